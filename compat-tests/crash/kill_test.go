package crash

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/ottla/ottla/compat-tests/harness"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

var (
	rounds = flag.Int("rounds", environmentRounds(6), "how often the broker is ended in each test")
	seed   = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the random choices")
)

// environmentRounds is OTTLA_CRASH_ROUNDS.
func environmentRounds(otherwise int) int {
	n, err := strconv.Atoi(os.Getenv("OTTLA_CRASH_ROUNDS"))
	if err != nil {
		return otherwise
	}
	return n
}

// endUnderLoad ends the broker at random moments while producers and a committer work, starts it again at once, and checks that
// nothing that was acknowledged is lost, doubled or out of order.
func endUnderLoad(t *testing.T, end func(*node)) {
	t.Logf("-rounds %d -seed %d", *rounds, *seed)
	r := rand.New(rand.NewPCG(*seed, 0))
	const topic, partitions = "load", 3
	n := startNode(t, "log.segment.bytes=1048576\n") // Several segments, so that recovery has some to skip.
	createTopic(t, newClient(t, n), topic, partitions, nil)
	loaders := []*loader{
		newLoader(t, n, 1, topic, partitions, kgo.NoCompression()),
		newLoader(t, n, 2, topic, partitions, kgo.Lz4Compression()),
	}
	// Versions that name topics, not their ids.
	c := &committer{client: newClient(t, n, kgo.MaxVersions(kversion.V3_0_0())), group: "commits", topic: topic}
	stop := together(t.Context(), loaders[0].run, loaders[1].run, c.run)
	stopped := false
	defer func() {
		if !stopped {
			stop()
		}
	}()
	// From the start of the process to the answer of a coordinator, which has read its partition: all logs are recovered by then.
	var recoveries []time.Duration
	for round := range *rounds {
		// The moment is to be random; nothing has to have happened by then.
		<-time.After(time.Duration(100+r.IntN(700)) * time.Millisecond)
		acked := c.acked.Load()
		end(n)
		took := n.restart()
		answered := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		offset, err := c.committed(ctx)
		cancel()
		if tried := c.tried.Load(); err != nil || offset < acked || offset > tried {
			t.Errorf("round %d: offset %d is committed (%v), want %d to %d", round, offset, err, acked, tried)
		}
		took += time.Since(answered)
		recoveries = append(recoveries, took)
		t.Logf("round %d: recovered in %s; %d and %d records acknowledged, offset %d committed", round, took.Round(time.Millisecond),
			loaders[0].total(), loaders[1].total(), offset)
		for _, l := range loaders {
			if err := l.failed(); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop()
	stopped = true
	slices.Sort(recoveries)
	t.Logf("%d recoveries: median %s, longest %s", len(recoveries), recoveries[len(recoveries)/2].Round(time.Millisecond),
		recoveries[len(recoveries)-1].Round(time.Millisecond))
	for _, l := range loaders {
		if err := l.failed(); err != nil {
			t.Fatal(err)
		}
		if l.total() == 0 {
			t.Fatal("nothing was acknowledged")
		}
	}
	if c.acked.Load() == 0 {
		t.Error("no commit was acknowledged")
	}
	checkLoad(t, n, topic, partitions, loaders)
	n.kill()
	n.restart()
	checkLoad(t, n, topic, partitions, loaders)
}

// TestKill ends the broker by kill -9.
func TestKill(t *testing.T) { endUnderLoad(t, (*node).kill) }

// TestTerm ends the broker by SIGTERM.
func TestTerm(t *testing.T) { endUnderLoad(t, (*node).term) }

// TestTermWhileStarting ends the broker by SIGTERM at different moments of its start, which is an orderly stop like any other,
// and by kill -9; the start after it finds all.
func TestTermWhileStarting(t *testing.T) {
	n := startNode(t, "")
	client := newClient(t, n)
	createTopic(t, client, "kept", 4, nil)
	for p := range int32(4) {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "kept", Partition: p, Value: load(1, p, 0)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	n.term()
	for i := range 40 {
		signal := syscall.SIGTERM
		if i%4 == 3 {
			signal = syscall.SIGKILL
		}
		state, err := harness.Interrupt(n.options, time.Duration(i)*2*time.Millisecond, signal)
		// Before the broker has a handler for it, SIGTERM ends it as it ends any process.
		if ws := state.Sys().(syscall.WaitStatus); err != nil || ws.ExitStatus() != 0 && !ws.Signaled() {
			t.Errorf("ended by %v after %d ms: %v (%v)", signal, 2*i, state, err)
		}
		n.checkLog()
	}
	n.restart()
	found := 0
	readAll(t, n, func(*kgo.Record) { found++ }, map[string]int32{"kept": 4})
	if found != 4 {
		t.Errorf("%d records, want 4", found)
	}
}
