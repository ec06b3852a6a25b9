package ottla_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/ottla/ottla"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// compactingBroker is a broker whose cleaner is always at it.
func compactingBroker(t *testing.T, dir string) (*ottla.Broker, *kadm.Client, *kgo.Client) {
	t.Helper()
	b, err := ottla.Start(t.Context(), ottla.Config{Dir: dir, Properties: map[string]string{
		"log.cleaner.backoff.ms": "20", "log.cleaner.min.cleanable.ratio": "0.01", "log.initial.task.delay.ms": "10",
		"offsets.topic.num.partitions": "1",
	}})
	if err != nil {
		t.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return b, kadm.NewClient(cl), cl
}

// until asks again, at a bounded pace, until ok or the limit has passed.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("never %s", what)
		case <-tick.C:
		}
	}
}

// cleanedBelow is the partition's entry in the cleaner's checkpoint, -1 if it has none.
func cleanedBelow(t *testing.T, dir, topic string) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "cleaner-offset-checkpoint"))
	if err != nil {
		return -1
	}
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(topic) + ` 0 (\d+)$`).FindSubmatch(b)
	if m == nil {
		return -1
	}
	offset := int64(-1)
	if _, err := fmt.Sscan(string(m[1]), &offset); err != nil {
		t.Fatal(err)
	}
	return offset
}

// TestCompactionKeepsLatestValues fills a compacted topic with many values a key, while a consumer reads,
// and waits until the cleaner has been over it: the latest value of each key is there, at its own offset, in
// order, before and after a restart, and much of the rest is gone.
func TestCompactionKeepsLatestValues(t *testing.T) {
	const keys, versions = 10, 60
	dir := t.TempDir()
	b, adm, cl := compactingBroker(t, dir)
	policy, segment := "compact", "60000"
	if _, err := adm.CreateTopic(t.Context(), 1, 1, map[string]*string{"cleanup.policy": &policy, "segment.ms": &segment}, "c"); err != nil {
		t.Fatal(err)
	}
	start := time.Now().Add(-versions * time.Minute)
	latest := map[string]int64{}
	for v := range versions { // One segment a minute of record time.
		var rs []*kgo.Record
		for k := range keys {
			rs = append(rs, &kgo.Record{Topic: "c", Key: fmt.Appendf(nil, "k%d", k), Value: fmt.Appendf(nil, "v%d", v), Timestamp: start.Add(time.Duration(v) * time.Minute)})
		}
		for _, r := range cl.ProduceSync(t.Context(), rs...) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			latest[string(r.Record.Key)] = r.Record.Offset
		}
	}
	const end = keys * versions
	until(t, "compacted", func() bool { return cleanedBelow(t, dir, "c") >= end-2*keys })
	check := func(addr string) {
		t.Helper()
		c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"c": {0: kgo.NewOffset().AtStart()}}))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		seen, n, last := map[string]int64{}, 0, int64(-1)
		for last < end-1 {
			fetches := c.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				t.Fatalf("at offset %d: %v", last, err)
			}
			fetches.EachRecord(func(r *kgo.Record) {
				if r.Offset <= last {
					t.Fatalf("offset %d after %d", r.Offset, last)
				}
				last, n = r.Offset, n+1
				seen[string(r.Key)] = r.Offset
			})
		}
		for key, offset := range latest {
			if seen[key] != offset {
				t.Errorf("%s was last at offset %d, and is at %d", key, offset, seen[key])
			}
		}
		if n > 4*keys {
			t.Errorf("%d records are left of %d", n, end)
		}
	}
	check(b.Addr())
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, _, _ = compactingBroker(t, dir)
	check(b.Addr())
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestCommittedOffsetsSurviveCompaction commits again and again until the cleaner has been over
// __consumer_offsets, restarts the broker and asks for the offsets.
func TestCommittedOffsetsSurviveCompaction(t *testing.T) {
	dir := t.TempDir()
	b, adm, _ := compactingBroker(t, dir)
	if _, err := adm.CreateTopic(t.Context(), 5, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	commit := func(at int64) {
		t.Helper()
		var os kadm.Offsets
		for p := range int32(5) {
			os.AddOffset("t", p, at+int64(p), -1)
		}
		rs, err := adm.CommitOffsets(t.Context(), "g", os)
		if err == nil {
			err = rs.Error()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	commit(1)
	segment := "30"
	if _, err := adm.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "segment.ms", Value: &segment}}, "__consumer_offsets"); err != nil {
		t.Fatal(err)
	}
	at := int64(1)
	until(t, "compacted", func() bool {
		at++
		commit(at)
		return cleanedBelow(t, dir, "__consumer_offsets") > 50
	})
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, adm, _ = compactingBroker(t, dir)
	got, err := adm.FetchOffsets(t.Context(), "g")
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(5) {
		if o, ok := got.Lookup("t", p); !ok || o.At != at+int64(p) {
			t.Errorf("partition %d is committed at %d, want %d", p, o.At, at+int64(p))
		}
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
