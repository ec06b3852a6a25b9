package ottla_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ottla/ottla"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// groupSettings make groups quick to form and the broker light.
func groupSettings(port string) map[string]string {
	return map[string]string{
		"group.initial.rebalance.delay.ms": "0",
		"group.min.session.timeout.ms":     "100",
		"offsets.topic.num.partitions":     "3",
		"listeners":                        "PLAINTEXT://127.0.0.1:" + port,
	}
}

const (
	groupPartitions = 4
	groupRecords    = 1200
	groupTimeout    = 40 * time.Second
)

// seen collects what the members of a group consumed, and lets them be waited for.
type seen struct {
	mu sync.Mutex
	// counts is how often each record was consumed, that is handed out and its offset committed.
	counts map[string]int
	// highest is the offset after the last record consumed, by partition.
	highest map[int32]int64
	// wrong are records that came again, or out of order.
	wrong []string
	moved chan struct{}
}

func newSeen() *seen {
	return &seen{counts: map[string]int{}, highest: map[int32]int64{}, moved: make(chan struct{}, 1)}
}

func (s *seen) add(r *kgo.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[string(r.Value)]++
	if next := s.highest[r.Partition]; r.Offset != next {
		s.wrong = append(s.wrong, fmt.Sprintf("partition %d: offset %d where %d is next", r.Partition, r.Offset, next))
	}
	s.highest[r.Partition] = max(s.highest[r.Partition], r.Offset+1)
	select {
	case s.moved <- struct{}{}:
	default:
	}
}

// waitFor returns once n different records were seen.
func (s *seen) waitFor(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	for {
		s.mu.Lock()
		have := len(s.counts)
		s.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-s.moved:
		case <-ctx.Done():
			t.Fatalf("%d of %d records were consumed: %v", have, n, context.Cause(ctx))
		}
	}
}

// member is a consumer that commits what it consumed before it polls again or gives up a partition.
type member struct {
	cl   *kgo.Client
	done chan struct{}
	stop context.CancelFunc
}

// startMember joins the group. Rebalances are blocked while a poll's records are consumed and
// committed, so that no partition moves with uncommitted records.
func startMember(t *testing.T, addr, group, topic string, balancer kgo.GroupBalancer, s *seen) *member {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.Balancers(balancer),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.HeartbeatInterval(50*time.Millisecond), kgo.SessionTimeout(3*time.Second),
		kgo.RebalanceTimeout(6*time.Second), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(50*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &member{cl: cl, done: make(chan struct{}), stop: stop}
	go func() {
		defer close(m.done)
		for ctx.Err() == nil {
			fetches := cl.PollRecords(ctx, 20)
			var records []*kgo.Record
			fetches.EachRecord(func(r *kgo.Record) { records = append(records, r) })
			if len(records) > 0 {
				if err := cl.CommitRecords(context.Background(), records...); err != nil {
					// Not committed is not consumed: the records come again, here or elsewhere.
					cl.SetOffsets(rewound(records))
				} else {
					for _, r := range records {
						s.add(r)
					}
				}
			}
			cl.AllowRebalance()
		}
	}()
	return m
}

// rewound are the offsets before records.
func rewound(records []*kgo.Record) map[string]map[int32]kgo.EpochOffset {
	back := map[string]map[int32]kgo.EpochOffset{}
	for _, r := range slices.Backward(records) {
		if back[r.Topic] == nil {
			back[r.Topic] = map[int32]kgo.EpochOffset{}
		}
		back[r.Topic][r.Partition] = kgo.EpochOffset{Epoch: r.LeaderEpoch, Offset: r.Offset}
	}
	return back
}

// leave ends the member in order: it consumes nothing more and leaves the group.
func (m *member) leave() {
	m.stop()
	<-m.done
	m.cl.CloseAllowingRebalance()
}

// TestGroups lets three members of a group come and go at random while records are produced, with
// each of the balancers, and restarts the broker in the middle. Each record must be consumed exactly once
// over all, since members commit before they let go, and the committed offsets must say so.
func TestGroups(t *testing.T) {
	for name, balancer := range map[string]kgo.GroupBalancer{
		"range": kgo.RangeBalancer(), "sticky": kgo.StickyBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testGroup(t, name, balancer)
		})
	}
}

func testGroup(t *testing.T, name string, balancer kgo.GroupBalancer) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), groupTimeout, errors.New("the test takes too long"))
	defer cancel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	dir := t.TempDir()
	broker, err := ottla.Start(ctx, ottla.Config{Dir: dir, Properties: groupSettings("0")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { broker.Close(context.Background()) }()
	addr := broker.Addr()
	group, topic := "g-"+name, "t-"+name

	producer, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	admin := kadm.NewClient(producer)
	if _, err := admin.CreateTopic(ctx, groupPartitions, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	produced := 0
	produce := func(n int) {
		t.Helper()
		var records []*kgo.Record
		for range n {
			records = append(records, &kgo.Record{Value: []byte(strconv.Itoa(produced)), Partition: int32(produced % groupPartitions)})
			produced++
		}
		if err := producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}

	s := newSeen()
	members := make([]*member, 3)
	defer func() {
		for _, m := range members {
			if m != nil {
				m.leave()
			}
		}
	}()
	start := func(i int) { members[i] = startMember(t, addr, group, topic, balancer, s) }
	start(0)
	const rounds = 8
	for round := range rounds {
		produce(groupRecords / rounds)
		switch i := random.IntN(len(members)); {
		case members[i] == nil:
			start(i)
		case slices.ContainsFunc(members, func(m *member) bool { return m != nil && m != members[i] }):
			members[i].leave()
			members[i] = nil
		}
		if round == rounds/2 {
			if err := broker.Close(ctx); err != nil {
				t.Fatal(err)
			}
			if broker, err = ottla.Start(ctx, ottla.Config{Dir: dir, Properties: groupSettings(addr[len("127.0.0.1:"):])}); err != nil {
				t.Fatal(err)
			}
		}
		// Some rounds rebalance while there is much to consume, some when all is done.
		if random.IntN(2) == 0 {
			s.waitFor(ctx, t, produced)
		}
	}
	s.waitFor(ctx, t, produced)
	for i, m := range members {
		if m != nil {
			m.leave()
			members[i] = nil
		}
	}

	s.mu.Lock()
	for _, wrong := range s.wrong {
		t.Error(wrong)
	}
	for _, value := range slices.Sorted(maps.Keys(s.counts)) {
		if n := s.counts[value]; n != 1 {
			t.Errorf("record %s was consumed %d times", value, n)
		}
	}
	s.mu.Unlock()
	// A client of its own: the connections of the producer's that the restart cut fail once more.
	fresh, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	admin = kadm.NewClient(fresh)
	committed, err := admin.FetchOffsets(ctx, group)
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(groupPartitions) {
		if o, ok := committed.Lookup(topic, p); !ok || o.At != groupRecords/groupPartitions {
			t.Errorf("partition %d: committed %+v, want %d", p, o, groupRecords/groupPartitions)
		}
	}
	described, err := admin.DescribeGroups(ctx, group)
	if err != nil {
		t.Fatal(err)
	}
	if g := described[group]; g.State != "Empty" || len(g.Members) != 0 || g.ProtocolType != "consumer" {
		t.Errorf("after all have left: %+v", g)
	}
}
