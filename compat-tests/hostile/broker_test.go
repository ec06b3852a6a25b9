package hostile

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/ottla/ottla/compat-tests/harness"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maxLogBytes is how much a broker may log about whatever a test does to it.
	maxLogBytes = 1 << 20
	// settleTimeout is how long a broker may take to give back what closed connections held.
	settleTimeout = 30 * time.Second
	// maxAckTime is how long an acknowledgement may take while the broker is under attack, on a machine that
	// has other things to do; goodP99 holds for 99 of 100.
	maxAckTime = 5 * time.Second
	goodP99    = time.Second
)

// startBroker starts Ottla; a broker that is gone at the test's end or that logged an error fails the test.
func startBroker(t *testing.T, properties string) *harness.Broker {
	t.Helper()
	bin := os.Getenv("OTTLA_BIN")
	if bin == "" {
		t.Fatal("set OTTLA_BIN to the binary to test (make build puts it in bin/ottla)")
	}
	b, err := harness.Start(t.Context(), harness.Options{Bin: bin, Dir: t.TempDir(), Properties: harness.OneNode + "auto.create.topics.enable=false\n" +
		"offsets.topic.num.partitions=4\ngroup.initial.rebalance.delay.ms=0\n" + properties})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-b.Exited():
			t.Error("the broker ended")
		default:
			if err := b.Stop(); err != nil {
				t.Errorf("the broker's end: %v", err)
			}
		}
		complaints, err := b.LogComplaints()
		if err != nil || complaints != "" {
			t.Errorf("the broker logged (%v):\n%s", err, complaints)
		}
		if info, err := os.Stat(b.LogFile); err != nil || info.Size() > maxLogBytes {
			t.Errorf("the broker's log: %v, larger than %d bytes", err, maxLogBytes)
		}
	})
	return b
}

// watched is the client that behaves.
type watched struct{ *goodClient }

// good starts the client that behaves.
func good(t *testing.T, b *harness.Broker) watched {
	t.Helper()
	g, err := startGood(t.Context(), b.Address)
	if err != nil {
		t.Fatal(err)
	}
	return watched{g}
}

// work waits until the client got n more records of a partition through.
func (w watched) work(t *testing.T, n int64) {
	t.Helper()
	until := w.consumed[0].Load() + n
	await(t, "the good client works", func() bool { return w.consumed[0].Load() >= until })
}

// check ends the client and fails the test if it noticed anything.
func (w watched) check(t *testing.T) {
	t.Helper()
	s, err := w.stop()
	t.Log(s)
	if err != nil {
		t.Error(err)
	}
	if s.disconnects > 0 || s.longest > maxAckTime || s.p99 > goodP99 {
		t.Errorf("the good client noticed the attack (at most %s, %s for 99 of 100, and no disconnects are fine)", maxAckTime, goodP99)
	}
}

func usage(t *testing.T, b *harness.Broker) harness.Usage {
	t.Helper()
	u, err := b.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// await polls a condition of the process, for which there is nothing to wait on.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(settleTimeout)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("after %s still not: %s", settleTimeout, what)
		}
		<-tick.C
	}
}

// admin runs a function with a client that is closed after it.
func admin(t *testing.T, b *harness.Broker, do func(ctx context.Context, client *kgo.Client) error) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Address))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := do(ctx, client); err != nil {
		t.Fatal(err)
	}
}

// apiVersionsRequest is ApiVersions v0.
var apiVersionsRequest = []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff}

// roundTrip asks for ApiVersions and tells whether it was answered.
func roundTrip(c net.Conn) error { return roundTripIn(c, 5*time.Second) }

func roundTripIn(c net.Conn, timeout time.Duration) error {
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := c.Write(apiVersionsRequest); err != nil {
		return err
	}
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(size[:]))); err != nil {
		return err
	}
	return nil
}

// servedBy asks what the broker serves, and leaves out what kmsg can't make, and UnregisterBroker: a broker that someone
// unregisters serves nothing until it is started again, in Kafka as well.
func servedBy(ctx context.Context, client *kgo.Client) ([]served, error) {
	resp, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	var out []served
	for _, k := range resp.ApiKeys {
		if req := kmsg.RequestForKey(k.ApiKey); req != nil && kmsg.Key(k.ApiKey) != kmsg.UnregisterBroker {
			out = append(out, served{k.ApiKey, k.MinVersion, min(k.MaxVersion, req.MaxVersion())})
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the broker serves nothing")
	}
	return out, nil
}
