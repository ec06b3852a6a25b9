package handlers

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/replica"
)

// Fetch sessions (KIP-227): a client names its partitions once, and from then on only what
// changes. The broker remembers what it was asked and what it answered last, and leaves out
// partitions about which there is nothing new.

// Epochs of a session in a request.
const (
	fetchEpochFinal   = -1 // no session, and the end of the one that is named
	fetchEpochInitial = 0  // a full fetch that asks for a new session
)

// fetchSessionEviction is how long a session is safe from larger newcomers, and how long unused
// before anyone may take its place (FetchSessionCache).
const fetchSessionEviction = 2 * time.Minute

// fetchKey names a partition as the client does: by topic name, or from version 13 by topic id.
type fetchKey struct {
	topic     string
	id        [16]byte
	partition int32
}

// cachedFetch is one partition of a session: what is asked, and what was answered.
type cachedFetch struct {
	key fetchKey
	// name is the topic's name once its id was found. It stays when the topic is deleted, whose
	// partitions are unknown ones then while the topic of an id never seen is an unknown topic.
	name             string
	fetchOffset      int64
	logStartOffset   int64
	maxBytes         int32
	leaderEpoch      int32
	lastFetchedEpoch int32

	// answeredHighWatermark and answeredLogStart are what the client knows; -1 makes the next
	// answer tell in any case.
	answeredHighWatermark, answeredLogStart int64

	// rank orders the session's partitions; gone says that the client has forgotten this one.
	rank uint64
	gone bool
	// awake says that it is to be read; else it sleeps in resting. listed says that it stands in the session's
	// active, where one that fell asleep stands until the next plan.
	awake, listed bool
	resting       replica.Resting
}

// ask takes over what a request says of the partition.
func (c *cachedFetch) ask(p *kmsg.FetchRequestTopicPartition) {
	c.fetchOffset, c.logStartOffset, c.maxBytes = p.FetchOffset, p.LogStartOffset, p.PartitionMaxBytes
	c.leaderEpoch, c.lastFetchedEpoch = p.CurrentLeaderEpoch, p.LastFetchedEpoch
}

// news tells whether an answer says anything new, and remembers it.
func (c *cachedFetch) news(fp *replica.FetchPartition) bool {
	tell := fp.Records != nil && fp.Records.Len() > 0 ||
		fp.HighWatermark != c.answeredHighWatermark || fp.LogStartOffset != c.answeredLogStart ||
		fp.PreferredReadReplica >= 0 || fp.Err != nil || fp.HasDiverging
	c.answeredHighWatermark, c.answeredLogStart = fp.HighWatermark, fp.LogStartOffset
	if fp.Err != nil || fp.HasDiverging {
		c.answeredHighWatermark = -1 // Once it is over, the client hears of it.
	}
	return tell
}

// fetchSession is one session. The client uses it from one request at a time; mu is for those
// that don't keep to that.
type fetchSession struct {
	id int32
	// privileged sessions are those of followers.
	privileged bool
	usesIDs    bool
	createdAt  time.Time

	mu sync.Mutex
	// The fields below are guarded by mu.

	epoch      int32 // of the next request
	partitions map[fetchKey]*cachedFetch
	// active are the partitions that are read; the others have nothing to tell and sleep in rest. They are read
	// by rank: those that gave records go to the end, so that every one has its turn at the front. sorted says
	// that active has that order, and none that is gone or sleeps.
	active []*cachedFetch
	sorted bool
	rank   uint64 // the last one given
	rest   replica.Rest
	asker  fetchAsker
	ended  bool

	// size and lastUsed are guarded by the cache's mu.
	size     int
	lastUsed time.Time
}

func newFetchSession(usesIDs, privileged bool, now time.Time) *fetchSession {
	return &fetchSession{usesIDs: usesIDs, privileged: privileged, createdAt: now, lastUsed: now,
		epoch: 1, partitions: make(map[fetchKey]*cachedFetch)}
}

// update adds, changes and removes partitions as a request says. Requires: s.mu held.
func (s *fetchSession) update(req *kmsg.FetchRequest) {
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			c := s.at(fetchKeyOf(s.usesIDs, t.Topic, t.TopicID, p.Partition))
			c.ask(p)
			c.resting.End()
			s.rouse(c)
		}
	}
	for i := range req.ForgottenTopics {
		t := &req.ForgottenTopics[i]
		for _, partition := range t.Partitions {
			if c := s.partitions[fetchKeyOf(s.usesIDs, t.Topic, t.TopicID, partition)]; c != nil {
				delete(s.partitions, c.key)
				c.gone, s.sorted = true, false
				c.resting.End()
			}
		}
	}
}

// at finds or adds a partition. Requires: s.mu held.
func (s *fetchSession) at(key fetchKey) *cachedFetch {
	c := s.partitions[key]
	if c == nil {
		c = &cachedFetch{key: key, answeredHighWatermark: -1, answeredLogStart: -1}
		c.resting.Owner = c
		s.partitions[key] = c
		s.pushBack(c)
		s.rouse(c)
	}
	return c
}

func fetchKeyOf(byID bool, topic string, id [16]byte, partition int32) fetchKey {
	if byID {
		return fetchKey{id: id, partition: partition}
	}
	return fetchKey{topic: topic, partition: partition}
}

// nextFetchEpoch follows an epoch; 0 and -1 have their own meaning and aren't used again.
func nextFetchEpoch(epoch int32) int32 {
	if epoch == 1<<31-1 {
		return 1
	}
	return epoch + 1
}

// fetchSessions is all sessions of this broker, at most slots of them.
type fetchSessions struct {
	random func() uint64

	mu   sync.Mutex
	byID map[int32]*fetchSession // guarded by mu
}

func newFetchSessions(random func() uint64) *fetchSessions {
	return &fetchSessions{random: random, byID: make(map[int32]*fetchSession)}
}

// begin finds the session of an incremental fetch and takes the request over into it; a nil
// session means that the fetch is a full one. epoch is what the session must still have when the
// answer is made. Errors: FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH,
// FETCH_SESSION_TOPIC_ID_ERROR.
func (f *fetchSessions) begin(req *kmsg.FetchRequest, now time.Time) (s *fetchSession, epoch int32, err error) {
	if req.Version < 7 {
		return nil, 0, nil
	}
	if req.SessionEpoch == fetchEpochInitial || req.SessionEpoch == fetchEpochFinal {
		if req.SessionID != 0 {
			f.remove(req.SessionID).end()
		}
		return nil, 0, nil
	}
	f.mu.Lock()
	s = f.byID[req.SessionID]
	if s == nil {
		f.mu.Unlock()
		return nil, 0, kerr.FetchSessionIDNotFound
	}
	f.mu.Unlock()

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != req.SessionEpoch {
		return nil, 0, kerr.InvalidFetchSessionEpoch
	}
	if s.usesIDs != (req.Version >= fetchTopicIDs) {
		return nil, 0, kerr.FetchSessionTopicIDError
	}
	s.update(req)
	if len(s.partitions) == 0 {
		f.remove(s.id)
		return nil, 0, nil
	}
	s.epoch = nextFetchEpoch(s.epoch)
	f.touch(s, len(s.partitions), now)
	return s, s.epoch, nil
}

func (f *fetchSessions) touch(s *fetchSession, size int, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.lastUsed, s.size = now, size
}

// remove forgets a session, and returns it, nil if there is none.
func (f *fetchSessions) remove(id int32) *fetchSession {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.byID[id]
	delete(f.byID, id)
	return s
}

// create keeps a new session if there is room for it, and returns its id; 0 if there is none.
func (f *fetchSessions) create(s *fetchSession, slots int, now time.Time) int32 {
	id, evicted := f.place(s, slots, now)
	evicted.end() // Without mu, which is taken after a session's.
	return id
}

// place is create; it returns whose place s took, if anyone's.
func (f *fetchSessions) place(s *fetchSession, slots int, now time.Time) (id int32, evicted *fetchSession) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.size, s.lastUsed = len(s.partitions), now
	if len(f.byID) >= slots {
		if slots <= 0 {
			return 0, nil
		}
		if evicted = f.evict(s, now); evicted == nil {
			return 0, nil
		}
	}
	for s.id == 0 || f.byID[s.id] != nil {
		s.id = int32(f.random() & (1<<31 - 1))
	}
	f.byID[s.id] = s
	return s.id, evicted
}

// evict makes room for a newcomer: of a session that wasn't used for long, else of one that is
// smaller, older than the eviction time, and not privileged (a privileged newcomer may take the
// place of any unprivileged one). It returns the one that went, nil if none could. Requires: f.mu held.
func (f *fetchSessions) evict(newcomer *fetchSession, now time.Time) *fetchSession {
	var stale, smaller *fetchSession
	for _, s := range f.byID {
		if stale == nil || s.lastUsed.Before(stale.lastUsed) || s.lastUsed.Equal(stale.lastUsed) && s.id < stale.id {
			stale = s
		}
		aged := now.Sub(s.createdAt) > fetchSessionEviction
		if !aged && (s.privileged || !newcomer.privileged) || s.privileged && !newcomer.privileged {
			continue
		}
		if !worthLess(s, newcomer) {
			continue
		}
		if smaller == nil || worthLess(s, smaller) || !worthLess(smaller, s) && s.id < smaller.id {
			smaller = s
		}
	}
	if stale != nil && now.Sub(stale.lastUsed) > fetchSessionEviction {
		delete(f.byID, stale.id)
		return stale
	}
	if smaller == nil {
		return nil
	}
	delete(f.byID, smaller.id)
	return smaller
}

// worthLess orders sessions by what keeping them is worth.
func worthLess(a, b *fetchSession) bool {
	if a.privileged != b.privileged {
		return b.privileged
	}
	return a.size < b.size
}
