package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// TestRandomCluster lets brokers live, stop, crash and lose what they had, leaders commit and change ISRs,
// and operators move partitions and change settings, in random order and with decisions cut short at any
// of their parts. It knows which replicas have all that was committed, and that a leader is one of them
// unless the election was an unclean one that was allowed.
func TestRandomCluster(t *testing.T) {
	settings, _, err := config.Load(config.ZeroConfig())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		c := newRandomCluster(t, settings, rapid.Uint64().Draw(t, "seed"))
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			c.step()
		}
	})
}

// testProcess is a broker's process and disk.
type testProcess struct {
	id int32
	// running is an incarnation that is up and registered with epoch.
	running     bool
	epoch       int64
	incarnation byte
	// cleanEpoch is what the disk says of the last stop; -1 after a crash.
	cleanEpoch int64
	dirs       []image.ID
}

type partitionKey struct {
	topic image.ID
	index int32
}

// testHistory is what is known of a partition beyond the image.
type testHistory struct {
	// complete are the replicas that have everything that was committed.
	complete map[int32]bool
	// leaders are the leaders by epoch.
	leaders map[int32]int32
}

type randomCluster struct {
	t        *rapid.T
	settings *config.Broker
	rng      *rand.Rand
	image    *image.Image
	live     *Liveness
	now      time.Time
	brokers  []*testProcess
	// stale are epochs of brokers as leaders may still believe them.
	stale   map[int32]int64
	history map[partitionKey]*testHistory
	// mayLose is set while a request is decided that may lose records.
	mayLose bool
	// proposed are the members of the ISR that a leader asks for.
	proposed []int32
	last     string
}

func newRandomCluster(t *rapid.T, settings *config.Broker, seed uint64) *randomCluster {
	value := "2"
	m, _, err := image.Empty().Apply(1, []metadata.Record{
		&metadata.ClusterRecord{ClusterID: testCluster},
		&metadata.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: 33},
		&metadata.FeatureLevelRecord{Name: elrFeature, FeatureLevel: 1},
		&metadata.ConfigRecord{ResourceType: image.ResourceBroker, Name: minInsync, Value: &value},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &randomCluster{t: t, settings: settings, rng: rand.New(rand.NewPCG(seed, 7)), image: m, now: time.Unix(1000, 0),
		stale: map[int32]int64{}, history: map[partitionKey]*testHistory{}}
	c.live = NewLiveness(m, settings, c.now)
	for id := int32(1); id <= 5; id++ {
		c.brokers = append(c.brokers, &testProcess{id: id, cleanEpoch: -1, dirs: []image.ID{{byte(id), 1}, {byte(id), 2}}})
	}
	for _, p := range c.brokers[:3] {
		c.boot(p)
		c.beat(p, false)
	}
	return c
}

func (c *randomCluster) env() *Env {
	return &Env{Image: c.image, NodeID: 1, Now: c.now, Rand: rand.New(rand.NewPCG(1, uint64(c.image.Offset()))), Settings: c.settings, Live: c.live}
}

// ask decides on a request and applies what follows; cut loses the rest of a divisible decision and with
// it the controller, which another takes over from.
func (c *randomCluster) ask(req kmsg.Request) kmsg.Response {
	c.last = fmt.Sprintf("%T%.400s", req, fmt.Sprintf("%+v", req))
	env := c.env()
	env.Live = copyOf(c.live)
	d, err := Decide(env, req)
	if err != nil {
		c.t.Fatal(err)
	}
	if again, err := Decide(c.env(), req); err != nil || !slices.Equal(encoded(again.Records), encoded(d.Records)) {
		c.t.Fatalf("%s: decided differently the second time: %v", c.last, err)
	}
	if !c.apply(&d) {
		return nil
	}
	return d.Response
}

func copyOf(l *Liveness) *Liveness {
	other := *l
	other.brokers = map[int32]*contact{}
	for id, c := range l.brokers {
		x := *c
		other.brokers[id] = &x
	}
	return &other
}

// apply reports whether all records were applied.
func (c *randomCluster) apply(d *Decision) bool {
	records := d.Records
	cut := d.Divisible && len(records) > 1 && c.rng.IntN(8) == 0
	if cut {
		records = records[:1+c.rng.IntN(len(records)-1)]
	}
	next, _, err := c.image.Apply(1, records)
	if err != nil {
		c.t.Fatalf("%s: %v", c.last, err)
	}
	old := c.image
	c.image = next
	c.check(old, cut)
	if cut {
		c.live = NewLiveness(c.image, c.settings, c.now)
	}
	return !cut
}

func (c *randomCluster) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("after %s: %s", c.last, fmt.Sprintf(format, args...))
}

// check compares the image with the one before. A decision that was cut short may leave brokers that
// are about to be fenced, or are shutting down, as leaders.
func (c *randomCluster) check(old *image.Image, cut bool) {
	if err := c.image.Check(); err != nil {
		c.fail("%v", err)
	}
	rules := newTopicRules(c.env(), c.image)
	for t := range c.image.Topics() {
		for i, p := range t.Partitions() {
			where := fmt.Sprintf("%s-%d (%s)", t.Name, i, describePartition(p))
			for _, id := range p.ISR {
				if b := c.image.Broker(id); b == nil || b.Fenced || b.InControlledShutdown && !c.shutdownPending() && !cut {
					c.fail("%s: broker %d in sync isn't active", where, id)
				}
			}
			if len(p.ELR) > 0 && len(p.ISR) >= rules.of(t).minISR {
				c.fail("%s: has eligible leaders though its ISR has its minimum", where)
			}
			if isReassigning(p) && containsAll(p.ISR, exclude(p.Replicas, p.Removing)) && p.Leader != image.NoLeader && c.progressed(old, t, i) {
				c.fail("%s: reassignment is done but goes on", where)
			}
			c.checkHistory(old, rules, t, i, where)
		}
	}
}

// shutdownPending tells whether a broker began to shut down and still has leaderships to hand over,
// because the controller that moved them was cut short.
func (c *randomCluster) shutdownPending() bool {
	for _, b := range c.image.Brokers() {
		if b.InControlledShutdown && !b.Fenced {
			return true
		}
	}
	return false
}

// progressed tells whether an ISR changed: only then can a reassignment have come to its end.
func (c *randomCluster) progressed(old *image.Image, t *image.Topic, i int32) bool {
	was := old.TopicByID(t.ID)
	return was != nil && was.Partition(i) != nil && !slices.Equal(was.Partition(i).ISR, t.Partition(i).ISR) && len(t.Partition(i).ISR) > len(was.Partition(i).ISR)
}

func (c *randomCluster) checkHistory(old *image.Image, rules *topicRules, t *image.Topic, i int32, where string) {
	p := t.Partition(i)
	h := c.history[partitionKey{t.ID, i}]
	if h == nil {
		h = &testHistory{complete: map[int32]bool{}, leaders: map[int32]int32{}}
		for _, id := range p.ISR {
			h.complete[id] = true
		}
		c.history[partitionKey{t.ID, i}] = h
	}
	if leader, ok := h.leaders[p.LeaderEpoch]; p.Leader != image.NoLeader && ok && leader != p.Leader {
		c.fail("%s: epoch %d had leader %d", where, p.LeaderEpoch, leader)
	}
	if p.Leader != image.NoLeader {
		h.leaders[p.LeaderEpoch] = p.Leader
	}
	var was *image.Partition
	if wt := old.TopicByID(t.ID); wt != nil {
		was = wt.Partition(i)
	}
	if was == nil || was == p {
		c.checkComplete(h, p, where)
		return
	}
	if p.PartitionEpoch <= was.PartitionEpoch || p.LeaderEpoch < was.LeaderEpoch || p.Leader != was.Leader && p.LeaderEpoch == was.LeaderEpoch {
		c.fail("%s: epochs after %s", where, describePartition(was))
	}
	if p.Leader != image.NoLeader && p.Leader != was.Leader && !slices.Contains(slices.Concat(was.ISR, was.ELR, c.proposed), p.Leader) {
		isLast := len(was.ISR)+len(p.ELR) == 0 && slices.Equal(was.LastKnownELR, []int32{p.Leader})
		if !c.mayLose && !isLast && !rules.of(t).unclean {
			c.fail("%s: unclean election after %s", where, describePartition(was))
		}
		if !slices.Equal(p.ISR, []int32{p.Leader}) || p.LeaderRecovery != image.LeaderRecovering && !c.mayLose {
			c.fail("%s: unclean election leaves others in sync or isn't marked", where)
		}
		clear(h.complete)
		h.complete[p.Leader] = true
	}
	c.checkComplete(h, p, where)
}

// checkComplete verifies that who leads has everything. A leader that isn't up can't do harm: it will
// register anew first.
func (c *randomCluster) checkComplete(h *testHistory, p *image.Partition, where string) {
	if p.Leader != image.NoLeader && c.isUp(p.Leader) && !h.complete[p.Leader] {
		c.fail("%s: the leader lacks committed records", where)
	}
}

// isUp tells whether a broker's process is the one that is registered.
func (c *randomCluster) isUp(id int32) bool {
	p, b := c.brokers[id-1], c.image.Broker(id)
	return p.running && b != nil && b.Epoch == p.epoch
}

// lose forgets what a broker had: in one directory, or with a nil one in all.
func (c *randomCluster) lose(id int32, dir *image.ID) {
	for key, h := range c.history {
		t := c.image.TopicByID(key.topic)
		if t == nil {
			continue
		}
		p := t.Partition(key.index)
		if i := slices.Index(p.Replicas, id); dir == nil || i >= 0 && p.Directories[i] == *dir {
			delete(h.complete, id)
		}
	}
}

// boot registers a new incarnation.
func (c *randomCluster) boot(p *testProcess) {
	p.incarnation++
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version, req.BrokerID, req.ClusterID, req.IncarnationID = 4, p.id, testCluster, image.ID{byte(p.id), p.incarnation}
	req.PreviousBrokerEpoch, req.LogDirs, req.Features = p.cleanEpoch, p.dirs, kafkaFeatures()
	p.running = false
	resp, _ := c.ask(req).(*kmsg.BrokerRegistrationResponse)
	if resp == nil || resp.ErrorCode == kerr.DuplicateBrokerRegistration.Code {
		return
	}
	if resp.ErrorCode != 0 {
		c.fail("registration: error %d", resp.ErrorCode)
	}
	p.running, p.epoch, p.cleanEpoch = true, resp.BrokerEpoch, -1
}

// beat sends a heartbeat; a broker that is let go stops cleanly.
func (c *randomCluster) beat(p *testProcess, shutdown bool) {
	if !p.running {
		return
	}
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.Version, req.BrokerID, req.BrokerEpoch, req.WantShutdown = 2, p.id, p.epoch, shutdown
	req.CurrentMetadataOffset = c.image.Offset() - int64(c.rng.IntN(3))
	if c.rng.IntN(20) == 0 {
		req.OfflineLogDirs = p.dirs[:1]
	}
	req.WantFence = c.rng.IntN(20) == 0
	if resp, _ := c.ask(req).(*kmsg.BrokerHeartbeatResponse); resp != nil && resp.ShouldShutdown {
		p.running, p.cleanEpoch = false, p.epoch
	}
}
