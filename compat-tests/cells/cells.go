// Package cells is the client × operation matrix for clients written in Go.
//
// A client implements Client; Main plays every cell against a broker and prints one line a cell,
// "PASS cell" or "FAIL cell: reason", which ../lib.sh tallies. Clients in other languages print the
// same lines. Every cell asserts on the records that came back: keys, values, headers, order inside
// a partition, and nothing twice.
package cells

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Record is what goes in and must come out.
type Record struct {
	Key, Value  string
	HeaderKey   string
	HeaderValue string
	Partition   int32
	Offset      int64
	TimestampMs int64
}

// Start says where a consumer without a committed position begins.
type Start int

// Where to start reading.
const (
	Beginning Start = iota
	End
	AtOffset
	AtTime
)

// Position is a start with its argument: an offset or a timestamp in milliseconds.
type Position struct {
	Start Start
	At    int64
}

// ProduceOptions are the producer's settings of one cell.
type ProduceOptions struct {
	Codec      string // none, gzip, snappy, lz4, zstd
	Acks       string // 0, 1, all
	Idempotent bool
}

// Group is a member of a consumer group.
type Group interface {
	// Poll returns what arrived within the time, at least one record unless it ran out.
	Poll(ctx context.Context) ([]Record, error)
	// Commit commits all that was polled, and returns when the broker has said so.
	Commit(ctx context.Context) error
	// Assigned is how many partitions the member owns now.
	Assigned() int
	// Close leaves the group.
	Close() error
}

// Client is one client library.
type Client interface {
	CreateTopic(ctx context.Context, topic string, partitions int32) error
	DeleteTopic(ctx context.Context, topic string) error
	ListTopics(ctx context.Context) ([]string, error)
	// Produce sends the records, keyed, to the partitions they name, and waits for the acks.
	Produce(ctx context.Context, topic string, o ProduceOptions, records []Record) error
	JoinGroup(ctx context.Context, topic, group string) (Group, error)
	// Assign reads from one partition without a group, until n records came or ctx ended.
	Assign(ctx context.Context, topic string, partition int32, from Position, n int) ([]Record, error)
}

const (
	partitions = 4
	perCell    = 200
	cellLimit  = 40 * time.Second
)

type suite struct {
	c      Client
	prefix string
	failed int
}

// Main runs every cell for the client that open makes for a bootstrap address, and exits.
func Main(open func(bootstrap string) (Client, error)) {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage:", os.Args[0], "BOOTSTRAP")
		os.Exit(2)
	}
	c, err := open(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	s := &suite{c: c, prefix: "cells-" + strconv.FormatInt(time.Now().UnixNano(), 36)}
	s.cell("create-topic", s.createTopic)
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		for _, acks := range []string{"0", "1", "all"} {
			o := ProduceOptions{Codec: codec, Acks: acks}
			s.cell("produce-"+codec+"-acks-"+acks, func(ctx context.Context) error { return s.produce(ctx, o) })
		}
	}
	s.cell("idempotent", func(ctx context.Context) error {
		return s.produce(ctx, ProduceOptions{Codec: "none", Acks: "all", Idempotent: true})
	})
	s.cell("consume-group", s.consumeGroup)
	s.cell("consume-assign", s.consumeAssign)
	s.cell("rebalance", s.rebalance)
	s.cell("seek-beginning", func(ctx context.Context) error { return s.seek(ctx, Beginning) })
	s.cell("seek-end", func(ctx context.Context) error { return s.seek(ctx, End) })
	s.cell("seek-offset", func(ctx context.Context) error { return s.seek(ctx, AtOffset) })
	s.cell("seek-time", func(ctx context.Context) error { return s.seek(ctx, AtTime) })
	s.cell("commit-resume", s.commitResume)
	s.cell("delete-topic", s.deleteTopic)
	if s.failed > 0 {
		os.Exit(1)
	}
	os.Exit(0)
}

func (s *suite) cell(name string, f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), cellLimit)
	defer cancel()
	if err := f(ctx); err != nil {
		s.failed++
		fmt.Printf("FAIL %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Println("PASS", name)
}

func (s *suite) topic(ctx context.Context, name string) (string, error) {
	topic := s.prefix + "-" + name
	return topic, s.c.CreateTopic(ctx, topic, partitions)
}

// records makes n records a partition, with timestamps one second apart from a minute ago.
func records(n int) []Record {
	start := time.Now().Add(-time.Minute).UnixMilli()
	var out []Record
	for i := range n {
		for p := range int32(partitions) {
			out = append(out, Record{
				Key: fmt.Sprintf("key-%d-%d", p, i), Value: fmt.Sprintf("value-%d-%d-%s", p, i, strings.Repeat("x", i%97)),
				HeaderKey: "h", HeaderValue: strconv.Itoa(i), Partition: p, TimestampMs: start + int64(i)*1000,
			})
		}
	}
	return out
}

// same compares what came with what was sent: as a set over partitions, in order inside each.
func same(got, want []Record) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d records came back, want %d", len(got), len(want))
	}
	split := func(rs []Record) map[int32][]Record {
		m := map[int32][]Record{}
		for _, r := range rs {
			m[r.Partition] = append(m[r.Partition], r)
		}
		return m
	}
	g, w := split(got), split(want)
	for p := range w {
		if len(g[p]) != len(w[p]) {
			return fmt.Errorf("partition %d: %d records came back, want %d", p, len(g[p]), len(w[p]))
		}
		for i := range w[p] {
			a, b := g[p][i], w[p][i]
			a.Offset, b.Offset = 0, 0
			if a != b {
				return fmt.Errorf("partition %d record %d: got %+v, want %+v", p, i, a, b)
			}
			if i > 0 && g[p][i].Offset <= g[p][i-1].Offset {
				return fmt.Errorf("partition %d: offset %d after %d", p, g[p][i].Offset, g[p][i-1].Offset)
			}
		}
	}
	return nil
}

// readAll reads every partition by assignment until it has want records in all.
func (s *suite) readAll(ctx context.Context, topic string, want []Record) ([]Record, error) {
	per := map[int32]int{}
	for _, r := range want {
		per[r.Partition]++
	}
	var got []Record
	for p := range int32(partitions) {
		if per[p] == 0 {
			continue
		}
		rs, err := s.c.Assign(ctx, topic, p, Position{Start: Beginning}, per[p])
		if err != nil {
			return nil, err
		}
		got = append(got, rs...)
	}
	return got, nil
}

func (s *suite) createTopic(ctx context.Context) error {
	topic, err := s.topic(ctx, "create")
	if err != nil {
		return err
	}
	return s.until(ctx, "listed", func() (bool, error) {
		topics, err := s.c.ListTopics(ctx)
		return slices.Contains(topics, topic), err
	})
}

func (s *suite) deleteTopic(ctx context.Context) error {
	topic, err := s.topic(ctx, "delete")
	if err != nil {
		return err
	}
	if err := s.c.DeleteTopic(ctx, topic); err != nil {
		return err
	}
	return s.until(ctx, "gone", func() (bool, error) {
		topics, err := s.c.ListTopics(ctx)
		return !slices.Contains(topics, topic), err
	})
}

// until asks again, at a bounded pace, until ok; the context bounds it.
func (s *suite) until(ctx context.Context, what string, ok func() (bool, error)) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := ok()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("never %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}

func (s *suite) produce(ctx context.Context, o ProduceOptions) error {
	topic, err := s.topic(ctx, fmt.Sprintf("produce-%s-%s-%t", o.Codec, o.Acks, o.Idempotent))
	if err != nil {
		return err
	}
	want := records(perCell / partitions)
	rest := want
	if o.Acks == "0" {
		// Without acks a record sent before a new partition has found its leader is lost, on Kafka
		// too: the first of each partition asks for one.
		first := ProduceOptions{Codec: o.Codec, Acks: "all"}
		if err := s.c.Produce(ctx, topic, first, want[:partitions]); err != nil {
			return err
		}
		rest = want[partitions:]
	}
	if err := s.c.Produce(ctx, topic, o, rest); err != nil {
		return err
	}
	got, err := s.readAll(ctx, topic, want)
	if err != nil {
		return err
	}
	return same(got, want)
}

func (s *suite) filled(ctx context.Context, name string) (string, []Record, error) {
	topic, err := s.topic(ctx, name)
	if err != nil {
		return "", nil, err
	}
	want := records(perCell / partitions)
	return topic, want, s.c.Produce(ctx, topic, ProduceOptions{Codec: "none", Acks: "all"}, want)
}

func drain(ctx context.Context, n int, groups ...Group) ([]Record, error) {
	var got []Record
	for i := 0; len(got) < n; i++ {
		rs, err := groups[i%len(groups)].Poll(ctx)
		if err != nil {
			return got, err
		}
		if ctx.Err() != nil {
			return got, fmt.Errorf("%d of %d records came: %w", len(got), n, ctx.Err())
		}
		got = append(got, rs...)
	}
	return got, nil
}

func (s *suite) consumeGroup(ctx context.Context) error {
	topic, want, err := s.filled(ctx, "group")
	if err != nil {
		return err
	}
	g, err := s.c.JoinGroup(ctx, topic, topic)
	if err != nil {
		return err
	}
	defer g.Close()
	got, err := drain(ctx, len(want), g)
	if err != nil {
		return err
	}
	return same(got, want)
}

func (s *suite) consumeAssign(ctx context.Context) error {
	topic, want, err := s.filled(ctx, "assign")
	if err != nil {
		return err
	}
	got, err := s.readAll(ctx, topic, want)
	if err != nil {
		return err
	}
	return same(got, want)
}

// rebalance adds a second member to a group, sees the partitions split, then one leave, and reads
// what is produced in each phase.
func (s *suite) rebalance(ctx context.Context) error {
	topic, want, err := s.filled(ctx, "rebalance")
	if err != nil {
		return err
	}
	a, err := s.c.JoinGroup(ctx, topic, topic)
	if err != nil {
		return err
	}
	defer a.Close()
	got, err := drain(ctx, len(want), a)
	if err != nil {
		return err
	}
	if err := same(got, want); err != nil {
		return fmt.Errorf("alone: %w", err)
	}
	if err := a.Commit(ctx); err != nil {
		return err
	}
	b, err := s.c.JoinGroup(ctx, topic, topic)
	if err != nil {
		return err
	}
	if err := s.pollUntil(ctx, "split", func() bool { return a.Assigned() == partitions/2 && b.Assigned() == partitions/2 }, a, b); err != nil {
		b.Close()
		return err
	}
	more := records(perCell / partitions)
	if err := s.c.Produce(ctx, topic, ProduceOptions{Codec: "none", Acks: "all"}, more); err != nil {
		b.Close()
		return err
	}
	got, err = drain(ctx, len(more), a, b)
	if err == nil {
		err = same(got, more)
	}
	if err == nil {
		err = b.Commit(ctx)
	}
	if err == nil {
		err = a.Commit(ctx)
	}
	if cerr := b.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("two members: %w", err)
	}
	return s.pollUntil(ctx, "all partitions back with the first member", func() bool { return a.Assigned() == partitions }, a)
}

// pollUntil keeps members polling, which is what drives a rebalance, until ok.
func (s *suite) pollUntil(ctx context.Context, what string, ok func() bool, groups ...Group) error {
	for !ok() {
		for _, g := range groups {
			short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			_, err := g.Poll(short)
			cancel()
			if err != nil && ctx.Err() == nil && short.Err() == nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("never %s: %w", what, ctx.Err())
		}
	}
	return nil
}

func (s *suite) seek(ctx context.Context, start Start) error {
	topic, all, err := s.filled(ctx, fmt.Sprintf("seek-%d", start))
	if err != nil {
		return err
	}
	var want []Record
	for _, r := range all {
		if r.Partition == 1 {
			want = append(want, r)
		}
	}
	pos := Position{Start: start}
	switch start {
	case AtOffset:
		pos.At, want = 17, want[17:]
	case AtTime:
		pos.At, want = want[23].TimestampMs, want[23:]
	case End:
		return s.seekEnd(ctx, topic)
	}
	got, err := s.c.Assign(ctx, topic, 1, pos, len(want))
	if err != nil {
		return err
	}
	return same(got, want)
}

// seekEnd reads from the end while records are produced, and expects new ones only.
func (s *suite) seekEnd(ctx context.Context, topic string) error {
	type result struct {
		rs  []Record
		err error
	}
	done := make(chan result, 1)
	go func() {
		rs, err := s.c.Assign(ctx, topic, 1, Position{Start: End}, 1)
		done <- result{rs, err}
	}()
	// The consumer finds its end at an unknown moment: produce until it has seen something.
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case r := <-done:
			if r.err != nil {
				return r.err
			}
			if len(r.rs) == 0 || !strings.HasPrefix(r.rs[0].Key, "new-") {
				return fmt.Errorf("from the end came %+v, want only new records", r.rs)
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			rec := Record{Key: fmt.Sprintf("new-%d", i), Value: "v", HeaderKey: "h", HeaderValue: "1", Partition: 1, TimestampMs: time.Now().UnixMilli()}
			if err := s.c.Produce(ctx, topic, ProduceOptions{Codec: "none", Acks: "all"}, []Record{rec}); err != nil {
				return err
			}
		}
	}
}

// commitResume reads all with one member, commits, leaves, produces more, and expects the next
// member of the group to see only what is new.
func (s *suite) commitResume(ctx context.Context) error {
	topic, want, err := s.filled(ctx, "resume")
	if err != nil {
		return err
	}
	first, err := s.c.JoinGroup(ctx, topic, topic)
	if err != nil {
		return err
	}
	got, err := drain(ctx, len(want), first)
	if err == nil {
		err = same(got, want)
	}
	if err == nil {
		err = first.Commit(ctx)
	}
	if cerr := first.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	more := records(perCell / partitions / 2)
	if err := s.c.Produce(ctx, topic, ProduceOptions{Codec: "none", Acks: "all"}, more); err != nil {
		return err
	}
	second, err := s.c.JoinGroup(ctx, topic, topic)
	if err != nil {
		return err
	}
	defer second.Close()
	got, err = drain(ctx, len(more), second)
	if err != nil {
		return err
	}
	return same(got, more)
}
