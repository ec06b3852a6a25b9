package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/internal/vfs"
	commitlog "github.com/ottla/ottla/log"
	"github.com/ottla/ottla/log/batch"
)

// cluster is some managers over logs in memory, a controller that decides as Kafka's does, and a network
// that a test moves message by message. Nothing of it runs by itself: time stands still between calls of
// advance, and fetchers are stepped.
type cluster struct {
	t testing.TB
	// clk is manual, or the system's in a live cluster, whose fetchers run by themselves.
	clk    clock.Clock
	manual *clock.Manual
	live   bool
	// mu is for live clusters: it guards images, sessions and counts against each other's goroutines.
	mu sync.Mutex
	// fetches counts what leaders were asked.
	fetches int
	// images are all images of the controller, the newest last.
	images []*image.Image
	nodes  map[int32]*node
	epochs int64 // broker epochs given out
	// sessions counts fetch sessions; no id is used twice, as random ones aren't.
	sessions int32
	minISR   int32
	// unclean lets the controller elect a leader outside of the ISR.
	unclean bool
	// overstate makes leaders believe of followers that they have one record more than they have: a
	// planted bug, the high watermark advanced one too early.
	overstate bool
	// loseRequest and loseAnswer lose messages to the controller; nil loses none.
	loseRequest, loseAnswer func() bool
	// racks are the brokers' racks, by id.
	racks map[int32]string
	// replication is how the brokers replicate.
	replication Replication
}

// node is one broker, in its present life.
type node struct {
	c    *cluster
	id   int32
	fs   *vfs.Mem
	ids  atomic.Uint32
	logs *commitlog.Manager
	m    *Manager
	up   bool
	// seen is how many of the cluster's images the broker has.
	seen     int
	img      *image.Image
	epoch    int64
	sessions map[int32]*leaderSession
}

const (
	theTopic = "t"
)

var theTopicID = idOf(theTopic, 1)

// newCluster starts brokers 1 to n, all live, and one topic with a replica on each of replicas, led by the
// first.
func newCluster(t testing.TB, n int, minISR int32, replicas ...int32) *cluster {
	t.Helper()
	manual := clock.NewManual(time.Unix(1_000_000_000, 0))
	c := &cluster{t: t, clk: manual, manual: manual, nodes: map[int32]*node{}, minISR: minISR,
		images: []*image.Image{image.Empty()}, replication: DefaultReplication()}
	c.begin(n, replicas)
	return c
}

// newLiveCluster is a cluster that runs by itself, for use in a bubble of synctest.
func newLiveCluster(t testing.TB, n int, minISR int32, replicas ...int32) *cluster {
	t.Helper()
	c := &cluster{t: t, clk: clock.System{}, live: true, nodes: map[int32]*node{}, minISR: minISR,
		images: []*image.Image{image.Empty()}, replication: DefaultReplication()}
	c.begin(n, replicas)
	return c
}

func (c *cluster) begin(n int, replicas []int32) {
	c.t.Helper()
	for id := int32(1); id <= int32(n); id++ {
		c.nodes[id] = &node{c: c, id: id, fs: vfs.NewMem()}
		c.start(id)
		c.unfence(id)
	}
	c.decide(&metadata.TopicRecord{Name: theTopic, TopicID: theTopicID},
		&metadata.PartitionRecord{TopicID: theTopicID, Replicas: replicas, ISR: replicas, Leader: replicas[0], Directories: make([]image.ID, len(replicas))})
	c.t.Cleanup(c.stopAll)
}

func (c *cluster) stopAll() {
	for _, id := range c.ids() {
		if c.nodes[id].up {
			c.stop(id)
		}
	}
}

func (c *cluster) ids() []int32 {
	var ids []int32
	for id := range c.nodes {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (c *cluster) img() *image.Image       { return c.images[len(c.images)-1] }
func (c *cluster) part() *image.Partition  { return c.img().Partition(theTopic, 0) }
func (c *cluster) alive(id int32) bool     { b := c.img().Broker(id); return b != nil && !b.Fenced }
func (c *cluster) advance(d time.Duration) { c.manual.Advance(d) }

// start begins a new life of a broker, which is registered and fenced.
func (c *cluster) start(id int32) {
	c.t.Helper()
	n := c.nodes[id]
	if b := c.img().Broker(id); b != nil && !b.Fenced {
		c.fence(id) // A broker that registers anew is fenced, and so leaves the ISR.
	}
	c.epochs++
	n.epoch, n.up, n.seen, n.img, n.sessions = c.epochs, true, 0, image.Empty(), map[int32]*leaderSession{}
	rec := &metadata.RegisterBrokerRecord{BrokerID: id, BrokerEpoch: n.epoch, Fenced: true, IncarnationID: n.incarnation()}
	if rack, ok := c.racks[id]; ok {
		rec.Rack = &rack
	}
	c.decide(rec)
	logger := slog.New(slog.DiscardHandler)
	var err error
	n.logs, err = commitlog.Open(context.Background(), n.fs, c.clk, logger, commitlog.ManagerConfig{
		Dirs: []string{"/data"}, NodeID: id, NewUUID: uuids(&n.ids, id),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	n.m = NewManager(Config{NodeID: id, IncarnationID: n.incarnation(), Logs: n.logs, Clock: c.clk, Logger: logger, Peers: clusterPeers{c, n}, ISRChanges: clusterController{c, n},
		Replication: c.replication,
		Settings: func(*image.Image, string) Settings {
			return Settings{Log: commitlog.DefaultConfig(), MinInsyncReplicas: c.minISR}
		}})
	n.m.stepped = !c.live
}

func (n *node) incarnation() image.ID {
	return image.ID{byte(n.id), byte(n.epoch), byte(n.epoch >> 8), 1}
}

// ready tells whether the broker serves: it has the image with its registration.
func (n *node) ready() bool {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	b := n.img.Broker(n.id)
	return n.up && b != nil && b.Epoch == n.epoch
}

// stop ends a broker in order.
func (c *cluster) stop(id int32) {
	n := c.nodes[id]
	c.mu.Lock()
	n.up = false
	c.mu.Unlock()
	n.m.Close()
	if err := n.logs.Close(); err != nil {
		c.t.Error(err)
	}
}

// kill ends a broker as SIGKILL does; with powerLoss also what wasn't synced is lost, as rng says.
func (c *cluster) kill(id int32, powerLoss bool, rng *rand.Rand) {
	n := c.nodes[id]
	if !powerLoss {
		for _, l := range n.logs.Logs() {
			if err := l.Flush(); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	after := n.fs.AfterCrash(rng)
	c.stop(id)
	n.fs = after
}

// decide makes the controller's next image.
func (c *cluster) decide(records ...metadata.Record) {
	c.t.Helper()
	next, _, err := c.img().Apply(1, records)
	if err != nil {
		c.t.Fatal(err)
	}
	c.images = append(c.images, next)
}

// change makes a change of the partition; leader -2 keeps the leader.
func (c *cluster) change(leader int32, isr []int32) {
	c.t.Helper()
	r := &metadata.PartitionChangeRecord{}
	r.Reset()
	r.TopicID, r.PartitionID, r.ISR = theTopicID, 0, isr
	if leader != -2 {
		r.Leader = leader
	}
	c.decide(r)
}

// fence declares a broker dead: it leaves the ISR unless it is the last one, and leads no more.
func (c *cluster) fence(id int32) {
	c.t.Helper()
	b := c.img().Broker(id)
	c.decide(&metadata.BrokerRegistrationChangeRecord{BrokerID: id, BrokerEpoch: b.Epoch, Fenced: 1})
	p := c.part()
	if p == nil {
		return
	}
	isr := slices.DeleteFunc(slices.Clone(p.ISR), func(x int32) bool { return x == id })
	if len(isr) == 0 {
		isr = p.ISR
	}
	switch {
	case p.Leader == id:
		c.elect(isr)
	case len(isr) < len(p.ISR):
		c.change(-2, isr)
	}
}

// elect makes a live member of isr lead, another replica where unclean elections are allowed, or nobody.
func (c *cluster) elect(isr []int32) {
	c.t.Helper()
	for _, id := range c.part().Replicas {
		if slices.Contains(isr, id) && c.alive(id) {
			c.change(id, isr)
			return
		}
	}
	if c.unclean {
		for _, id := range c.part().Replicas {
			if c.alive(id) {
				c.change(id, []int32{id})
				return
			}
		}
	}
	if c.part().Leader != image.NoLeader {
		c.change(image.NoLeader, isr)
	}
}

func (c *cluster) unfence(id int32) {
	c.t.Helper()
	c.decide(&metadata.BrokerRegistrationChangeRecord{BrokerID: id, BrokerEpoch: c.nodes[id].epoch, Fenced: -1})
	if p := c.part(); p != nil && p.Leader == image.NoLeader {
		c.elect(p.ISR)
	}
}

// publish gives a broker the next image, if there is one it hasn't.
func (c *cluster) publish(id int32) bool {
	n := c.nodes[id]
	c.mu.Lock()
	if !n.up || n.seen == len(c.images) {
		c.mu.Unlock()
		return false
	}
	next := c.images[n.seen]
	n.seen++
	old := n.img
	n.img = next
	c.mu.Unlock()
	n.m.ApplyImage(old, next, image.Diff(old, next))
	return true
}

func (c *cluster) publishAll() {
	for _, id := range c.ids() {
		for c.publish(id) {
		}
	}
}

// settle lets everybody hear everything, until nothing moves any more.
func (c *cluster) settle() {
	for range 12 {
		c.publishAll()
		for _, id := range c.ids() {
			for _, f := range c.fetchersOf(id) {
				c.fetch(f)
			}
		}
		c.advance(100 * time.Millisecond)
	}
}

func (c *cluster) fetchersOf(id int32) []*fetcher {
	n := c.nodes[id]
	if !n.up {
		return nil
	}
	var list []*fetcher
	for _, f := range n.m.fetchers.running {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *fetcher) int { return int(a.id.leader - b.id.leader) })
	return list
}

// fetch lets a fetcher make one fetch, with its answer; false if it had nothing to fetch.
func (c *cluster) fetch(f *fetcher) bool {
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	req, _ := f.next(cancel)
	if req == nil {
		return false
	}
	resp, err := f.m.cfg.Peers.Fetch(ctx, f.id.leader, f.id.index, req)
	f.handle(ctx, resp, err)
	return true
}

// leaderSession is a leader's side of a fetch session.
type leaderSession struct {
	// rest has the partitions in resting that sleep; the others are read.
	rest    Rest
	resting map[sessionKey]*Resting
	asleep  map[sessionKey]bool
	epoch   int32
	order   []sessionKey
	asked   map[sessionKey]FetchPartition
	told    map[sessionKey][2]int64
}

// clusterPeers is the network as one broker sees it.
type clusterPeers struct {
	c *cluster
	n *node
}

var errUnreachable = errors.New("unreachable")

func (p clusterPeers) Fetch(ctx context.Context, broker int32, _ int, req *kmsg.FetchRequest) (*kmsg.FetchResponse, error) {
	leader := p.c.nodes[broker]
	if !leader.ready() {
		return nil, errUnreachable
	}
	// Through the wire's form, so that a field that isn't sent isn't seen.
	wire := kmsg.NewPtrFetchRequest()
	wire.Version = req.Version
	if err := wire.ReadFrom(req.AppendTo(nil)); err != nil {
		return nil, err
	}
	resp := leader.serve(ctx, wire)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out := kmsg.NewPtrFetchResponse()
	out.Version = req.Version
	return out, out.ReadFrom(resp.AppendTo(nil))
}

func (p clusterPeers) ListOffsets(_ context.Context, broker int32, _ int, req *kmsg.ListOffsetsRequest) (*kmsg.ListOffsetsResponse, error) {
	leader := p.c.nodes[broker]
	if !leader.ready() {
		return nil, errUnreachable
	}
	q := req.Topics[0].Partitions[0]
	found, err := leader.m.ListOffset(req.Topics[0].Topic, q.Partition, OffsetQuery{Timestamp: q.Timestamp, ReplicaID: req.ReplicaID, CurrentLeaderEpoch: q.CurrentLeaderEpoch})
	resp := kmsg.NewPtrListOffsetsResponse()
	t := kmsg.NewListOffsetsResponseTopic()
	r := kmsg.NewListOffsetsResponseTopicPartition()
	r.Offset, r.ErrorCode = found.Offset, codeOf(err)
	t.Partitions = append(t.Partitions, r)
	resp.Topics = append(resp.Topics, t)
	return resp, nil
}

func codeOf(err error) int16 {
	var k *kerr.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &k):
		return k.Code
	}
	return kerr.UnknownServerError.Code
}

// serve answers a fetch as the handler does, but waits in live clusters only.
func (n *node) serve(ctx context.Context, req *kmsg.FetchRequest) *kmsg.FetchResponse {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.c.fetches++
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = req.Version
	s := n.sessions[req.SessionID]
	switch {
	case req.SessionEpoch == 0:
		delete(n.sessions, req.SessionID)
		n.c.sessions++
		s = &leaderSession{resting: map[sessionKey]*Resting{}, asleep: map[sessionKey]bool{}, asked: map[sessionKey]FetchPartition{}, told: map[sessionKey][2]int64{}}
		n.sessions[n.c.sessions] = s
		resp.SessionID = n.c.sessions
	case s == nil:
		resp.ErrorCode = kerr.FetchSessionIDNotFound.Code
		return resp
	case s.epoch != req.SessionEpoch:
		resp.ErrorCode = kerr.InvalidFetchSessionEpoch.Code
		return resp
	default:
		resp.SessionID = req.SessionID
	}
	s.epoch++
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			key := sessionKey{t.TopicID, p.Partition}
			if _, ok := s.asked[key]; !ok {
				s.order = append(s.order, key)
				s.resting[key] = &Resting{Owner: key}
			}
			s.resting[key].End()
			delete(s.asleep, key)
			s.asked[key] = FetchPartition{TopicID: t.TopicID, Partition: p.Partition, CurrentLeaderEpoch: p.CurrentLeaderEpoch,
				FetchOffset: p.FetchOffset, LastFetchedEpoch: p.LastFetchedEpoch, FollowerLogStartOffset: p.LogStartOffset, MaxBytes: p.PartitionMaxBytes}
		}
	}
	for _, t := range req.ForgottenTopics {
		for _, i := range t.Partitions {
			key := sessionKey{t.TopicID, i}
			delete(s.asked, key)
			delete(s.told, key)
			if e := s.resting[key]; e != nil {
				e.End()
			}
			delete(s.resting, key)
			delete(s.asleep, key)
			s.order = slices.DeleteFunc(s.order, func(k sessionKey) bool { return k == key })
		}
	}
	plan := &FetchPlan{ReplicaID: req.ReplicaState.ID, ReplicaEpoch: req.ReplicaState.Epoch, MaxBytes: int(req.MaxBytes), Rest: &s.rest}
	s.plan(n, plan)
	if n.c.overstate {
		n.overstate(plan)
	}
	n.fetch(ctx, s, plan, req)
	topics := map[[16]byte]int{}
	for i := range plan.Partitions {
		fp := &plan.Partitions[i]
		key := sessionKey{fp.TopicID, fp.Partition}
		s.asleep[key] = n.m.Settle(&s.rest, s.resting[key], plan, fp)
		told, ok := s.told[key]
		if ok && fp.Err == nil && !fp.HasDiverging && fp.Records == nil && told == [2]int64{fp.HighWatermark, fp.LogStartOffset} {
			continue
		}
		s.told[key] = [2]int64{fp.HighWatermark, fp.LogStartOffset}
		if fp.Err != nil || fp.HasDiverging {
			delete(s.told, key)
		}
		at, known := topics[fp.TopicID]
		if !known {
			at = len(resp.Topics)
			topics[fp.TopicID] = at
			t := kmsg.NewFetchResponseTopic()
			t.TopicID = fp.TopicID
			resp.Topics = append(resp.Topics, t)
		}
		out := kmsg.NewFetchResponseTopicPartition()
		out.Partition, out.ErrorCode = fp.Partition, codeOf(fp.Err)
		out.HighWatermark, out.LastStableOffset, out.LogStartOffset = fp.HighWatermark, fp.LastStableOffset, fp.LogStartOffset
		if fp.HasDiverging {
			out.DivergingEpoch.Epoch, out.DivergingEpoch.EndOffset = fp.Diverging.Epoch, fp.Diverging.EndOffset
		}
		if fp.Records != nil {
			out.RecordBatches = make([]byte, fp.Records.Len())
			if _, err := fp.Records.ReadAt(out.RecordBatches, fp.Records.Position()); err != nil && !errors.Is(err, io.EOF) {
				n.c.t.Fatal(err)
			}
		}
		resp.Topics[at].Partitions = append(resp.Topics[at].Partitions, out)
	}
	plan.Release()
	return resp
}

// plan has what doesn't sleep read.
func (s *leaderSession) plan(n *node, plan *FetchPlan) {
	for _, e := range s.rest.Woken() {
		delete(s.asleep, e.Owner.(sessionKey))
	}
	plan.Partitions = nil
	for _, key := range s.order {
		if s.asleep[key] {
			continue
		}
		fp := s.asked[key]
		if t := n.img.TopicByID(key.topicID); t != nil {
			fp.Topic = t.Name
		} else {
			fp.Err = kerr.UnknownTopicID
		}
		plan.Partitions = append(plan.Partitions, fp)
	}
}

// fetch runs a plan until it is worth an answer. Requires: c.mu held, which it gives up meanwhile.
func (n *node) fetch(ctx context.Context, s *leaderSession, plan *FetchPlan, req *kmsg.FetchRequest) {
	if !n.c.live {
		n.m.Fetch(plan)
		s.rest.Used(n.c.clk.Now())
		return
	}
	n.c.mu.Unlock()
	defer n.c.mu.Lock()
	plan.MinBytes = int(req.MinBytes)
	defer n.m.CancelFetch(plan)
	for !n.m.Fetch(plan) {
		if !plan.waited {
			s.rest.Used(n.c.clk.Now())
		}
		plan.Release()
		woke := make(chan bool, 1)
		if !n.m.AwaitFetch(plan, time.Duration(req.MaxWaitMillis)*time.Millisecond, func(expired bool) { woke <- expired }) {
			return
		}
		select {
		case expired := <-woke:
			n.c.mu.Lock()
			s.plan(n, plan)
			n.c.mu.Unlock()
			if expired {
				n.m.Fetch(plan)
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// overstate has the leader believe that the follower is one record further.
func (n *node) overstate(plan *FetchPlan) {
	more := &FetchPlan{ReplicaID: plan.ReplicaID, ReplicaEpoch: plan.ReplicaEpoch, MaxBytes: plan.MaxBytes, Partitions: slices.Clone(plan.Partitions)}
	for i := range more.Partitions {
		more.Partitions[i].FetchOffset++
		more.Partitions[i].LastFetchedEpoch = -1
	}
	n.m.Fetch(more)
	more.Release()
}

// clusterController is the controller as one broker reaches it.
type clusterController struct {
	c *cluster
	n *node
}

func (a clusterController) AlterPartition(_ context.Context, req *kmsg.AlterPartitionRequest) (*kmsg.AlterPartitionResponse, error) {
	c := a.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !a.n.up || c.loseRequest != nil && c.loseRequest() {
		return nil, errUnreachable
	}
	resp := kmsg.NewPtrAlterPartitionResponse()
	resp.Version = req.Version
	if b := c.img().Broker(req.BrokerID); b == nil || b.Epoch != req.BrokerEpoch {
		resp.ErrorCode = kerr.StaleBrokerEpoch.Code
		return resp, nil
	}
	for _, t := range req.Topics {
		out := kmsg.NewAlterPartitionResponseTopic()
		out.TopidID = t.TopicID
		for _, p := range t.Partitions {
			out.Partitions = append(out.Partitions, c.alter(req.BrokerID, &p))
		}
		resp.Topics = append(resp.Topics, out)
	}
	if c.loseAnswer != nil && c.loseAnswer() {
		return nil, errUnreachable
	}
	return resp, nil
}

func (c *cluster) alter(from int32, r *kmsg.AlterPartitionRequestTopicPartition) kmsg.AlterPartitionResponseTopicPartition {
	out := kmsg.NewAlterPartitionResponseTopicPartition()
	out.Partition = r.Partition
	p := c.part()
	var isr []int32
	switch {
	case p.Leader != from || r.LeaderEpoch < p.LeaderEpoch:
		out.ErrorCode = kerr.FencedLeaderEpoch.Code
	case r.LeaderEpoch > p.LeaderEpoch:
		out.ErrorCode = kerr.NotController.Code
	case r.PartitionEpoch != p.PartitionEpoch:
		out.ErrorCode = kerr.InvalidUpdateVersion.Code
	default:
		for _, m := range r.NewEpochISR {
			b := c.img().Broker(m.BrokerID)
			if b == nil || b.Fenced || m.BrokerEpoch != -1 && m.BrokerEpoch != b.Epoch {
				out.ErrorCode = kerr.IneligibleReplica.Code
				return out
			}
			isr = append(isr, m.BrokerID)
		}
		c.change(-2, isr)
		p = c.part()
		out.LeaderID, out.LeaderEpoch, out.PartitionEpoch, out.ISR = p.Leader, p.LeaderEpoch, p.PartitionEpoch, p.ISR
	}
	return out
}

// partition is a broker's replica.
func (n *node) partition() *Partition {
	n.m.mu.RLock()
	defer n.m.mu.RUnlock()
	return n.m.partitions[topicPartition{theTopic, 0}]
}

// produce appends one batch at a broker.
func (c *cluster) produce(id int32, acks int16, values ...string) *ProducePartition {
	c.t.Helper()
	plan := &ProducePlan{Acks: acks, Partitions: []ProducePartition{{Topic: theTopic, Records: records(c.t, values...)}}}
	c.nodes[id].m.Produce(plan)
	return &plan.Partitions[0]
}

func (c *cluster) mustProduce(id int32, acks int16, values ...string) *ProducePartition {
	c.t.Helper()
	pp := c.produce(id, acks, values...)
	if pp.Err != nil {
		c.t.Fatal(pp.Err)
	}
	return pp
}

// stored is one record of a log.
type stored struct {
	offset int64
	epoch  int32
	value  string
}

var clusterCodecs = batch.NewCodecs()

// stored reads a broker's whole log.
func (c *cluster) stored(id int32) []stored {
	c.t.Helper()
	p := c.nodes[id].partition()
	var out []stored
	for at := p.StartOffset(); at < p.EndOffset(); {
		raw, err := p.Read(at, 1<<20)
		if err != nil {
			c.t.Fatal(err)
		}
		for b, err := range batch.All(raw) {
			if err != nil {
				c.t.Fatal(err)
			}
			at = b.LastOffset() + 1
			rr, err := clusterCodecs.Records(&b, 1<<20)
			if err != nil {
				c.t.Fatal(err)
			}
			for rec := (batch.Record{}); rr.Next(&rec); {
				out = append(out, stored{rec.Offset, b.LeaderEpoch, string(rec.Value)})
			}
			rr.Close()
		}
	}
	return out
}

// wantLog fails unless a broker's log has just these records, as "offset@epoch=value".
func (c *cluster) wantLog(id int32, want ...string) {
	c.t.Helper()
	got := []string{}
	for _, s := range c.stored(id) {
		got = append(got, fmt.Sprintf("%d@%d=%s", s.offset, s.epoch, s.value))
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("log of broker %d:\n got %v\nwant %v", id, got, want)
	}
}

// wantPositions fails unless a broker's replica stands there.
func (c *cluster) wantPositions(id int32, highWatermark, logEnd int64) {
	c.t.Helper()
	if p := c.nodes[id].partition(); p.HighWatermark() != highWatermark || p.EndOffset() != logEnd {
		c.t.Errorf("broker %d: high watermark %d, log end %d, want %d and %d", id, p.HighWatermark(), p.EndOffset(), highWatermark, logEnd)
	}
}

// wantISR fails unless the controller has this ISR, in any order.
func (c *cluster) wantISR(want ...int32) {
	c.t.Helper()
	got := slices.Sorted(slices.Values(c.part().ISR))
	if !slices.Equal(got, want) {
		c.t.Errorf("ISR %v, want %v", got, want)
	}
}
