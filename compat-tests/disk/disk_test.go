package disk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/compat-tests/harness"
)

// deviceBytes is the size of the device.
const deviceBytes = 64 << 20

// rig is a broker whose data lies on a small device.
type rig struct {
	t       *testing.T
	broker  *harness.Broker
	options harness.Options
	data    string
	client  *kgo.Client
	topicID [16]byte
	// acked are the values that were acknowledged, by offset.
	acked map[int64]string
}

func newRig(t *testing.T, properties string) *rig {
	t.Helper()
	if os.Getenv("OTTLA_DISK_NAMESPACE") == "" {
		t.Skip("run.sh runs this in a mount namespace of its own")
	}
	bin := os.Getenv("OTTLA_BIN")
	if bin == "" {
		t.Fatal("set OTTLA_BIN to the binary to test (make build puts it in bin/ottla)")
	}
	r := &rig{t: t, acked: map[int64]string{}}
	r.options = harness.Options{Bin: bin, Dir: t.TempDir(), Properties: harness.OneNode +
		"offsets.topic.num.partitions=2\ngroup.initial.rebalance.delay.ms=0\n" + properties}
	r.data = filepath.Join(r.options.Dir, "data")
	if err := os.Mkdir(r.data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", r.data, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(r.data, 0); err != nil {
			t.Error(err)
		}
	})
	var err error
	if r.broker, err = harness.Start(t.Context(), r.options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.broker.Kill(); err != nil {
			t.Error(err)
		}
	})
	r.client = r.newClient()
	r.createTopic()
	return r
}

func (r *rig) newClient(o ...kgo.Opt) *kgo.Client {
	r.t.Helper()
	c, err := kgo.NewClient(append(o, kgo.SeedBrokers(r.broker.Address), kgo.AlwaysRetryEOF(),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MetadataMinAge(20*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

// fill produces until it is refused, one record after the other, and returns why. A refused record isn't tried again.
func (r *rig) fill(size int) error {
	r.t.Helper()
	c := r.newClient(kgo.DisableIdempotentWrite(), kgo.RecordRetries(0), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.MaxProduceRequestsInflightPerBroker(1), kgo.DefaultProduceTopic(topic))
	for i := 0; i < 4*deviceBytes/size; i++ {
		value := strings.Repeat(string(rune('a'+i%26)), size)
		record, err := c.ProduceSync(r.t.Context(), kgo.StringRecord(value)).First()
		if err != nil {
			return err
		}
		r.acked[record.Offset] = value
	}
	r.t.Fatal("the device never filled up")
	return nil
}

// produceLater produces with a client that tries again, as clients do; the channel has the result.
func (r *rig) produceLater(size int) <-chan error {
	c := r.newClient(kgo.DefaultProduceTopic(topic))
	done := make(chan error, 1)
	value := strings.Repeat("z", size)
	c.Produce(r.t.Context(), kgo.StringRecord(value), func(record *kgo.Record, err error) {
		if err == nil {
			r.acked[record.Offset] = value
		}
		done <- err
	})
	return done
}

// await waits for what produceLater began.
func (r *rig) await(done <-chan error) {
	r.t.Helper()
	select {
	case err := <-done:
		if err != nil {
			r.t.Errorf("the record that waited: %v", err)
		}
	case <-time.After(30 * time.Second):
		r.t.Fatal("writes didn't resume")
	}
}

// checkRecords reads all that is there and compares it with what was acknowledged from start on.
func (r *rig) checkRecords(start int64) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 60*time.Second)
	defer cancel()
	want := 0
	for offset := range r.acked {
		if offset >= start {
			want++
		}
	}
	c := r.newClient(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(start)}}))
	for got := 0; got < want; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			r.t.Fatalf("read %d of %d records: %v", got, want, err)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			if r.acked[record.Offset] == string(record.Value) {
				got++
			} else if r.acked[record.Offset] != "" {
				r.t.Errorf("offset %d has another record than was acknowledged", record.Offset)
			}
		})
	}
}

func (r *rig) restart() {
	r.t.Helper()
	b, err := harness.Restart(r.t.Context(), r.options, r.broker)
	if err != nil {
		r.t.Fatal(err)
	}
	r.broker = b
}

// log is what the broker has logged since its start.
func (r *rig) log() string {
	r.t.Helper()
	b, err := os.ReadFile(r.broker.LogFile)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

func (r *rig) checkLog() {
	r.t.Helper()
	if complaints, err := r.broker.LogComplaints(); err != nil || complaints != "" {
		r.t.Errorf("the broker logged (%v):\n%s", err, complaints)
	}
}

// TestFloor fills a device down to the floor that the broker chooses by itself, a twentieth of it.
func TestFloor(t *testing.T) {
	r := newRig(t, "")
	if err := r.fill(20_000); !errors.Is(err, kerr.KafkaStorageError) {
		t.Fatalf("refused with %v, want KAFKA_STORAGE_ERROR", err)
	}
	total, usable := r.describeLogDir()
	if floor := int64(deviceBytes / 20); total != deviceBytes || usable > floor || usable < floor/2 {
		t.Errorf("%d of %d bytes are free when records are refused, the floor is %d", usable, total, floor)
	}
	code, message := r.produceRaw()
	if code != kerr.KafkaStorageError.Code {
		t.Errorf("error code %d", code)
	}
	for _, want := range []string{r.data, "bytes of free space", "3355443", "log.dir.min.free.bytes"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message %q doesn't name %q", message, want)
		}
	}
	waiting := r.produceLater(20_000)
	r.checkRecords(0)
	r.commitOffset()
	select {
	case err := <-waiting:
		t.Fatalf("a record got in below the floor, or its client gave up: %v", err)
	default:
	}

	start := int64(len(r.acked)) / 2
	r.deleteRecords(start)
	if _, now := r.describeLogDir(); now < usable+deviceBytes/4 {
		t.Errorf("%d bytes are free after the deletion of half of the records, %d before it", now, usable)
	}
	r.await(waiting)
	r.checkRecords(start)
	out := r.log()
	if strings.Count(out, "short of free space") != 1 || strings.Count(out, "enough free space again") != 1 {
		t.Errorf("log:\n%s", out)
	}
	r.checkLog()
	if err := r.broker.Stop(); err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.checkRecords(start)
	r.checkLog()
}

// TestLastByte has no floor: appends run into the device's end. The broker bears it, is killed and starts again on the full device,
// which DeleteRecords then frees.
func TestLastByte(t *testing.T) {
	r := newRig(t, "log.dir.min.free.bytes=0\n")
	for _, size := range []int{200_000, 20_000, 1000, 100} {
		if err := r.fill(size); !errors.Is(err, kerr.KafkaStorageError) {
			t.Fatalf("refused with %v, want KAFKA_STORAGE_ERROR", err)
		}
	}
	if code, message := r.produceRaw(); code != kerr.KafkaStorageError.Code || !strings.Contains(message, "is full") {
		t.Errorf("error code %d, %q", code, message)
	}
	if out := r.log(); !strings.Contains(out, "no space left on device") || !strings.Contains(out, "stays in service") {
		t.Errorf("log:\n%s", out)
	}
	r.checkRecords(0)
	r.checkLog()
	if err := r.broker.Kill(); err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.checkRecords(0)

	waiting := r.produceLater(200_000)
	start := int64(len(r.acked)) / 2
	r.deleteRecords(start)
	r.await(waiting)
	r.checkRecords(start)
	r.checkLog()
	if err := r.broker.Stop(); err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.checkRecords(start)
	r.checkLog()
}
