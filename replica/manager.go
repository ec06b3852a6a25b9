package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/kerror"
	commitlog "github.com/ottla/ottla/log"
)

// Config is what a Manager is made of.
type Config struct {
	NodeID int32
	// IncarnationID is what this start of the broker registers with. Images that don't have that
	// registration are of the past: the manager leads and follows nothing by them, since what they say of
	// this broker was about a former life. Zero takes every image for the present.
	IncarnationID image.ID

	Logs   *commitlog.Manager
	Clock  clock.Clock
	Logger *slog.Logger
	// Settings resolves a topic's effective settings under a given image.
	Settings func(img *image.Image, topic string) Settings

	// Replication is how this broker leads and follows; the zero value stands for the defaults.
	Replication Replication
	// Peers reaches leaders; without it this broker follows nobody.
	Peers Peers
	// ISRChanges reaches the controller; without it in-sync replicas never change.
	ISRChanges ISRChanges
	// MoveThreads is how many partitions are moved between directories at a time
	// (num.replica.alter.log.dirs.threads); one a directory if zero.
	MoveThreads int
	// AssignDirs tells the controller which directories hold partitions of this broker, and returns once the
	// metadata says so (AssignReplicasToDirs, KIP-858). Nil if nobody wants to know.
	AssignDirs func(ctx context.Context, assignments []DirAssignment) error
}

// Settings is what a topic's configuration says to its replicas.
type Settings struct {
	Log commitlog.Config
	// MinInsyncReplicas is min.insync.replicas.
	MinInsyncReplicas int32
	// LeaderThrottled and FollowerThrottled are leader.replication.throttled.replicas and
	// follower.replication.throttled.replicas: "*", or pairs partition:broker.
	LeaderThrottled, FollowerThrottled []string
}

// Manager holds the partitions of this broker.
type Manager struct {
	cfg Config

	mu         sync.RWMutex
	partitions map[topicPartition]*Partition // guarded by mu

	moves   mover
	assigns assigner
	retries retrier

	// applying serialises what makes partitions; it comes before all other locks.
	applying sync.Mutex

	// image is the newest image that was applied; it tells unknown partitions from those of others.
	image atomic.Pointer[image.Image]
	// present says that an image with this broker's registration was applied. It belongs to ApplyImage.
	present bool

	// brokerEpoch is this broker's registration, noBrokerEpoch before it.
	brokerEpoch atomic.Int64

	changes  *isrChanges
	lag      lagCheck
	fetchers *fetchers
	stats    stats

	// leaderThrottle bounds what this broker gives to followers that lag, followerThrottle what it takes
	// as one; both only for replicas that their topics name.
	leaderThrottle, followerThrottle throttle

	// stepped leaves fetchers to be stepped by hand, by tests.
	stepped bool
}

// noBrokerEpoch is the epoch of a broker that isn't known to be registered.
const noBrokerEpoch = -1

type topicPartition struct {
	topic     string
	partition int32
}

// NewManager returns a manager that holds nothing until ApplyImage.
func NewManager(cfg Config) *Manager {
	m := &Manager{cfg: cfg, partitions: make(map[topicPartition]*Partition)}
	if m.cfg.Replication == (Replication{}) {
		m.cfg.Replication = DefaultReplication()
	}
	m.moves.init(m)
	m.assigns.init(m)
	m.retries.m = m
	m.image.Store(image.Empty())
	m.brokerEpoch.Store(noBrokerEpoch)
	m.changes, m.fetchers = newISRChanges(m), newFetchers(m)
	m.lag.m = m
	return m
}

// The manager is its partitions' host.

func (m *Manager) now() time.Time                { return m.cfg.Clock.Now() }
func (m *Manager) lagTimeMax() time.Duration     { return m.cfg.Replication.LagTimeMax }
func (m *Manager) rackAware() bool               { return m.cfg.Replication.RackAware }
func (m *Manager) isrChanged(p *Partition)       { m.changes.add(p) }
func (m *Manager) committedLost()                { m.stats.truncationsBelowHighWatermark.Add(1) }
func (m *Manager) leaderThrottled() bool         { return m.leaderThrottle.delay(m.now()) > 0 }
func (m *Manager) copied(bytes int)              { m.leaderThrottle.take(bytes, m.now()) }
func (m *Manager) logger() *slog.Logger          { return m.cfg.Logger }
func (m *Manager) broker(id int32) *image.Broker { return m.image.Load().Broker(id) }

// all is every partition that is held and has a log.
func (m *Manager) all() []*Partition {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]*Partition, 0, len(m.partitions))
	for _, p := range m.partitions {
		if p.failure == nil {
			list = append(list, p)
		}
	}
	return list
}

// SetBrokerEpoch tells this broker's epoch, that of its registration; with Config.IncarnationID the image
// tells it. Nothing is fetched and no ISR is changed before: a leader must be able to tell this life of
// the broker from former ones (KIP-903).
func (m *Manager) SetBrokerEpoch(epoch int64) {
	m.brokerEpoch.Store(epoch)
	m.fetchers.wake()
}

// SetFetchers changes how many fetchers follow one leader (num.replica.fetchers).
func (m *Manager) SetFetchers(n int) { m.fetchers.resize(n) }

// SetThrottles changes leader.replication.throttled.rate and follower.replication.throttled.rate, in
// bytes a second; zero and below bound nothing.
func (m *Manager) SetThrottles(leader, follower int64) {
	m.leaderThrottle.set(leader)
	m.followerThrottle.set(follower)
}

// replica is the partition of a topic that has or had the name, which may have failed; nil without one.
func (m *Manager) replica(topic string, index int32) *Partition {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.partitions[topicPartition{topic, index}]
}

// partition returns a partition that this broker holds, or tells why it doesn't.
func (m *Manager) partition(topic string, index int32) (*Partition, error) {
	p := m.replica(topic, index)
	switch {
	case p != nil && p.failure != nil:
		return nil, p.failure
	case p != nil:
		return p, nil
	case m.image.Load().Partition(topic, index) != nil:
		return nil, kerr.NotLeaderForPartition
	}
	return nil, kerr.UnknownTopicOrPartition
}

// Led returns a partition that this broker leads, with the leader epoch. Errors:
// UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR.
func (m *Manager) Led(topic string, index int32) (*Partition, int32, error) {
	p, err := m.partition(topic, index)
	if err != nil {
		return nil, 0, err
	}
	epoch := p.leading.Load()
	if epoch == notLeading {
		return nil, 0, kerr.NotLeaderForPartition
	}
	return p, epoch, nil
}

// ApplyImage takes a new image over: it creates, leads, reconfigures and deletes partitions as the
// delta says. It is called from one goroutine, in the order of the images. old may be nil.
func (m *Manager) ApplyImage(_, newImage *image.Image, delta *image.Delta) {
	m.applying.Lock()
	defer m.applying.Unlock()
	m.image.Store(newImage)
	first := !m.present
	if first {
		epoch, ok := m.registeredIn(newImage)
		if !ok {
			return
		}
		m.present = true
		if epoch != noBrokerEpoch {
			m.SetBrokerEpoch(epoch)
		}
		delta = image.Diff(image.Empty(), newImage)
	}
	// What goes is deleted first, since what comes may have its name, and all at once: a deletion's
	// cost is in its flushes.
	var dropped []*commitlog.Log
	for _, c := range delta.Topics {
		if c.Old == nil {
			continue
		}
		for index := range c.Old.Partitions() {
			if !stays(c.New, c.Old.ID, index, m.cfg.NodeID) {
				dropped = m.drop(c.Old, index, dropped)
			}
		}
	}
	m.deleteLogs(dropped)
	for _, c := range delta.Topics {
		if c.New != nil {
			m.applyTopic(newImage, c, first)
		}
	}
	m.reconfigure(newImage, delta)
}

// registeredIn tells whether an image has the registration of this life of the broker, and its epoch.
func (m *Manager) registeredIn(img *image.Image) (epoch int64, ok bool) {
	if m.cfg.IncarnationID == (image.ID{}) {
		return noBrokerEpoch, true
	}
	b := img.Broker(m.cfg.NodeID)
	if b == nil || b.IncarnationID != m.cfg.IncarnationID {
		return noBrokerEpoch, false
	}
	return b.Epoch, true
}

// applyTopic applies the partitions of a topic that changed. first says that the image is the first one, and so
// tells of no new partitions.
func (m *Manager) applyTopic(img *image.Image, c image.TopicChange, first bool) {
	var changed []*Partition
	var missing []commitlog.NewLog
	for index, s := range c.New.Partitions() {
		if c.Old != nil && c.Old.ID == c.New.ID && c.Old.Partition(index) == s {
			continue
		}
		if !holds(s, m.cfg.NodeID) {
			continue
		}
		if p := m.held(c.New, index); p != nil {
			changed = append(changed, p)
		} else {
			isNew := !first && (c.Old == nil || c.Old.ID != c.New.ID || c.Old.Partition(index) == nil)
			missing = append(missing, commitlog.NewLog{
				Topic: c.New.Name, Partition: index, TopicID: c.New.ID,
				At: commitlog.Placement{Directory: s.Directory(m.cfg.NodeID), Existing: !isNew},
			})
		}
	}
	if len(missing) > 0 {
		changed = append(changed, m.open(missing, m.cfg.Settings(img, c.New.Name))...)
	}
	for _, p := range changed {
		m.enter(c.New, p)
	}
}

// enter gives a partition the state that the metadata has, and makes it known.
func (m *Manager) enter(t *image.Topic, p *Partition) {
	s := t.Partition(p.index)
	if err := p.apply(s); err != nil {
		m.cfg.Logger.Error("can't lead partition", "topic", p.topic, "partition", p.index, "leader_epoch", s.LeaderEpoch, "error", err)
	}
	if p.failure != nil {
		return
	}
	// Visible only now: a request that finds it finds it led.
	m.mu.Lock()
	m.partitions[topicPartition{t.Name, p.index}] = p
	m.mu.Unlock()
	m.follow(p)
	m.checkDirectory(p, s)
}

// follow has a partition fetched from its leader, or not where this broker leads.
func (m *Manager) follow(p *Partition) {
	f, leads, followed := p.role()
	switch {
	case leads:
		m.fetchers.unfollow(p)
		if followed && m.cfg.ISRChanges != nil {
			m.lag.begin()
		}
	case f.leader == image.NoLeader:
		m.fetchers.unfollow(p)
	default:
		m.fetchers.follow(p, f)
	}
}

func holds(p *image.Partition, node int32) bool {
	for _, r := range p.Replicas {
		if r == node {
			return true
		}
	}
	return false
}

// stays tells whether a node still holds a partition of the topic id after a change to t, which is nil if
// the topic was deleted.
func stays(t *image.Topic, id [16]byte, index, node int32) bool {
	if t == nil || t.ID != id {
		return false
	}
	p := t.Partition(index)
	return p != nil && holds(p, node)
}

// held is the partition as it is held for this very topic, or nil.
func (m *Manager) held(t *image.Topic, index int32) *Partition {
	if p := m.replica(t.Name, index); p != nil && p.topicID == t.ID && p.failure == nil {
		return p
	}
	return nil
}

// open makes partitions of a topic with their logs. Trouble with a log is kept in the partition, which then
// answers KAFKA_STORAGE_ERROR.
func (m *Manager) open(missing []commitlog.NewLog, settings Settings) []*Partition {
	out := make([]*Partition, len(missing))
	for i, c := range m.openLogs(missing, settings.Log) {
		n := &missing[i]
		p := newPartition(m, m.cfg.NodeID, n.Topic, n.TopicID, n.Partition)
		p.configure(settings)
		out[i] = p
		if c.Err != nil {
			m.cfg.Logger.Error("can't open log", "topic", p.topic, "partition", p.index, "error", c.Err)
			p.failure, p.refusedAt = storageError(c.Err), n.At
			m.mu.Lock()
			m.partitions[topicPartition{p.topic, p.index}] = p
			m.mu.Unlock()
			continue
		}
		p.use(c.Log)
	}
	return out
}

// openLogs opens or makes logs.
func (m *Manager) openLogs(logs []commitlog.NewLog, cfg commitlog.Config) []commitlog.Created {
	var former []*commitlog.Log
	for i := range logs {
		n := &logs[i]
		n.Config = cfg
		if l, ok := m.cfg.Logs.Get(n.Topic, n.Partition); ok && l.TopicID() != n.TopicID && l.TopicID() != (image.ID{}) {
			// The topic was deleted, and made again, while this broker was away. A log without an id may be
			// older than ids are; it is taken over.
			former = append(former, l)
		}
	}
	m.deleteLogs(former) // What fails to go is met again as a log of another topic.
	return m.cfg.Logs.CreateAll(logs)
}

// storageError makes any trouble with a log one that clients understand.
func storageError(err error) error {
	if errors.Is(err, kerr.KafkaStorageError) {
		return err
	}
	return kerror.Wrap(kerr.KafkaStorageError, err)
}

// drop ends a partition that is deleted, or no longer assigned to this broker, and appends its log, if
// it has one, to logs.
func (m *Manager) drop(t *image.Topic, index int32, logs []*commitlog.Log) []*commitlog.Log {
	key := topicPartition{t.Name, index}
	m.mu.Lock()
	p := m.partitions[key]
	if p == nil || p.topicID != t.ID {
		m.mu.Unlock()
		return logs
	}
	delete(m.partitions, key)
	m.mu.Unlock()
	m.fetchers.unfollow(p)
	p.retire() // A move is over or can't end any more.
	l := p.log()
	if l == nil {
		return logs
	}
	return append(logs, l)
}

func (m *Manager) deleteLogs(logs []*commitlog.Log) {
	if len(logs) == 0 {
		return
	}
	if err := m.cfg.Logs.DeleteAll(logs); err != nil {
		m.cfg.Logger.Error("can't delete logs", "partitions", len(logs), "error", err)
	}
}

// reconfigure hands changed settings to the logs.
func (m *Manager) reconfigure(img *image.Image, delta *image.Delta) {
	for _, c := range delta.Configs {
		switch c.Resource.Type {
		case image.ResourceTopic:
			m.reconfigureTopic(img, c.Resource.Name)
		case image.ResourceBroker:
			if c.Resource.Name == "" || c.Resource.Name == fmt.Sprint(m.cfg.NodeID) {
				for t := range img.Topics() {
					m.reconfigureTopic(img, t.Name)
				}
				return
			}
		}
	}
}

func (m *Manager) reconfigureTopic(img *image.Image, topic string) {
	t := img.Topic(topic)
	if t == nil {
		return
	}
	settings := m.cfg.Settings(img, topic)
	for index := range t.Partitions() {
		if p := m.held(t, index); p != nil {
			p.reconfigure(settings)
		}
	}
}

// SetAsideStrays renames the logs that belong to no partition of this broker. It is due once the
// image is known to be complete: after this broker's registration came back in it.
func (m *Manager) SetAsideStrays() {
	img := m.image.Load()
	for _, l := range m.cfg.Logs.Logs() {
		t := img.Topic(l.Topic())
		if t != nil && t.ID == l.TopicID() {
			if p := t.Partition(l.Partition()); p != nil && holds(p, m.cfg.NodeID) {
				continue
			}
		}
		m.cfg.Logger.Warn("setting aside a log of no known partition", "topic", l.Topic(), "partition", l.Partition())
		if err := m.cfg.Logs.SetAsideStray(l.Topic(), l.Partition()); err != nil {
			m.cfg.Logger.Error("can't set log aside", "topic", l.Topic(), "partition", l.Partition(), "error", err)
		}
	}
}

// Start lets work begin that changes things by itself: moves between directories that an earlier run began, and
// telling the controller where partitions lie. It is due once this broker is registered.
func (m *Manager) Start() {
	m.assigns.start()
	m.moves.start()
}

// Close ends fetching and leaves moves where they are, wakes everyone who waits and drops all partitions; the logs
// stay as they are.
func (m *Manager) Close() {
	m.fetchers.close()
	m.lag.close()
	m.changes.close()
	m.moves.stop()
	m.assigns.stop()
	m.retries.stop()
	m.mu.Lock()
	partitions := m.partitions
	m.partitions = make(map[topicPartition]*Partition)
	m.mu.Unlock()
	for _, p := range partitions {
		p.retire()
	}
}
