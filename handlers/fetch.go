package handlers

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/replica"
	"github.com/ottla/ottla/wire"
)

// Versions of Fetch that matter here.
const (
	fetchSessionsFrom = 7
	fetchZstd         = 10
	fetchRack         = 11
	fetchFlexible     = 12
	fetchTopicIDs     = 13
	fetchReplicaState = 15
	fetchEndpoints    = 16
)

// fetch is one Fetch request under way. Nothing of the request's body is kept in it, so that a
// parked fetch holds no frame.
type fetch struct {
	d       *Deps
	r       *wire.Request
	img     *image.Image
	maxWait time.Duration
	plan    replica.FetchPlan
	// keys names the plan's partitions as the client does; index by index.
	keys []fetchKey
	// seen finds a partition that a full fetch names twice.
	seen map[fetchKey]int

	// session is that of an incremental fetch, and epoch what it must still have; createSession asks
	// for a new one.
	session       *fetchSession
	epoch         int32
	createSession bool
	// answer is in memory that is used again.
	answer fetchAnswer
}

// fetchPool keeps what requests need besides their responses. A fetch that parked isn't put back:
// its waiter may still be running.
type fetchPool struct{ pool sync.Pool }

// handleFetch, versions 4 to 18: read record batches.
//
//	 5  log start offset           13  topic ids (KIP-516)
//	 7  sessions (KIP-227)         15  replica state (KIP-903)
//	 9  leader epoch (KIP-320)     16  leader hints (KIP-951)
//	10  zstd (KIP-110)             17  replica directory id (KIP-853)
//	11  rack (KIP-392)             18  high watermark of followers (KIP-1166)
//	12  flexible, divergence (KIP-595)
func handleFetch(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.FetchRequest)
	session, epoch, err := d.fetchSessions.begin(req, d.Clock.Now())
	if err != nil {
		answer := fetchAnswer{version: r.Version, errorCode: d.codeOf(err, "find fetch session")}
		r.ReplyChunks(answer.encode())
		return
	}
	f := d.fetches.get()
	f.d, f.r, f.img = d, r, d.Image()
	f.session, f.epoch = session, epoch
	f.prepare(req)
	if req.IsolationLevel != replica.ReadUncommitted && req.IsolationLevel != replica.ReadCommitted {
		f.refuse(kerr.UnknownServerError)
		d.fetches.put(f)
		return
	}
	if r.Inline() {
		if !f.mayInline() {
			r.Offload(f.goOn)
			return
		}
		f.plan.Cached = true
	}
	f.run()
}

// goOn is run on a goroutine of its own, after an event loop has begun the request.
func (f *fetch) goOn() {
	defer f.d.guard(f.r)
	f.run()
}

// run runs the plan and answers, or waits.
func (f *fetch) run() {
	d, r, session := f.d, f.r, f.session
	ready := d.Replicas.Fetch(&f.plan)
	if f.plan.Blocked {
		f.plan.Cached = false
		r.Offload(f.goOn)
		return
	}
	f.plan.Cached = false // What comes later runs on a goroutine of its own.
	if session != nil {
		session.rest.Used(d.Clock.Now())
	}
	if ready || f.maxWait <= 0 {
		f.reply()
		d.fetches.put(f)
		return
	}
	r.ReleaseFrame()
	if !f.park() {
		return
	}
	r.OnClose(func() {
		if d.Replicas.CancelFetch(&f.plan) {
			r.NoReply()
		}
	})
}

// maxInlinePartitions is how many partitions an event loop reads for one fetch.
const maxInlinePartitions = 16

// mayInline says whether the plan may run on an event loop: not those of followers, which move high watermarks and
// change the ISR, nor those of which each batch's codec must be looked at.
func (f *fetch) mayInline() bool {
	return f.plan.ReplicaID < 0 && len(f.plan.Partitions) <= maxInlinePartitions && f.r.Version >= fetchZstd
}

// prepare makes the plan out of the request, or out of its session.
func (f *fetch) prepare(req *kmsg.FetchRequest) {
	plan := &f.plan
	plan.ReplicaID, plan.ReplicaEpoch = req.ReplicaID, -1
	if req.Version >= fetchReplicaState {
		plan.ReplicaID, plan.ReplicaEpoch = req.ReplicaState.ID, req.ReplicaState.Epoch
	}
	plan.Isolation, plan.Rack = req.IsolationLevel, req.Rack
	plan.FromFollowers = req.Version >= fetchRack
	plan.MaxBytes = int(req.MaxBytes)
	if plan.ReplicaID < 0 {
		plan.MaxBytes = min(plan.MaxBytes, int(f.d.Configs.Broker().Network.FetchMaxBytes))
	}
	plan.MinBytes = min(int(req.MinBytes), plan.MaxBytes)
	f.maxWait = time.Duration(req.MaxWaitMillis) * time.Millisecond
	if f.session != nil {
		f.session.mu.Lock()
		defer f.session.mu.Unlock()
		f.session.askedBy(f.asker())
		f.planSession()
		return
	}
	f.createSession = req.Version >= fetchSessionsFrom && req.SessionEpoch == fetchEpochInitial
	f.planFull(req)
}

// asker is who asks, and how. A leader that has heard of a newer life of a follower is to look at
// everything, and refuse it.
func (f *fetch) asker() fetchAsker {
	a := fetchAsker{version: f.r.Version, isolation: f.plan.Isolation, replica: f.plan.ReplicaID, epoch: f.plan.ReplicaEpoch, rack: f.plan.Rack}
	if a.replica >= 0 {
		if b := f.img.Broker(a.replica); b != nil {
			a.registered = b.Epoch
		}
	}
	return a
}

// planSession reads every partition of the session that doesn't rest. Requires: s.mu held.
func (f *fetch) planSession() {
	s := f.session
	f.plan.Rest = &s.rest
	for _, c := range s.awake() {
		fp := replica.FetchPartition{
			Topic: c.name, Partition: c.key.partition, CurrentLeaderEpoch: c.leaderEpoch, FetchOffset: c.fetchOffset,
			LastFetchedEpoch: c.lastFetchedEpoch, FollowerLogStartOffset: c.logStartOffset, MaxBytes: c.maxBytes,
		}
		f.add(c.key, &fp)
		c.name = fp.Topic
	}
}

// planFull reads what the request names; of a partition that is named twice the last one counts.
func (f *fetch) planFull(req *kmsg.FetchRequest) {
	byID := req.Version >= fetchTopicIDs
	if f.seen == nil {
		f.seen = make(map[fetchKey]int)
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			key := fetchKeyOf(byID, t.Topic, t.TopicID, p.Partition)
			fp := replica.FetchPartition{
				Partition: p.Partition, CurrentLeaderEpoch: p.CurrentLeaderEpoch, FetchOffset: p.FetchOffset,
				LastFetchedEpoch: p.LastFetchedEpoch, FollowerLogStartOffset: p.LogStartOffset, MaxBytes: p.PartitionMaxBytes,
			}
			if at, twice := f.seen[key]; twice {
				f.resolve(key, &fp)
				f.plan.Partitions[at] = fp
				continue
			}
			f.seen[key] = len(f.keys)
			f.add(key, &fp)
		}
	}
}

func (f *fetch) add(key fetchKey, fp *replica.FetchPartition) {
	f.resolve(key, fp)
	f.keys = append(f.keys, key)
	f.plan.Partitions = append(f.plan.Partitions, *fp)
}

// resolve finds a partition's topic, unless its name is known already, and refuses partitions that
// don't exist.
func (f *fetch) resolve(key fetchKey, fp *replica.FetchPartition) {
	// Any negative epoch stands for no check (FetchRequest.optionalEpoch).
	fp.CurrentLeaderEpoch = max(fp.CurrentLeaderEpoch, replica.NoLeaderEpoch)
	fp.HighWatermark, fp.LastStableOffset, fp.LogStartOffset, fp.PreferredReadReplica = -1, -1, -1, -1
	fp.TopicID = key.id
	if f.r.Version < fetchTopicIDs {
		fp.Topic = key.topic
	} else if fp.Topic == "" {
		var ok bool
		if fp.Topic, ok = topicName(f.img, key.id); !ok {
			fp.Err = kerr.UnknownTopicID
			return
		}
	}
	if f.img.Partition(fp.Topic, fp.Partition) == nil {
		fp.Err = kerr.UnknownTopicOrPartition
	}
}

// park waits until the plan is worth running again. It reports false if the connection died; the
// request is completed then.
func (f *fetch) park() bool {
	f.plan.Release()
	if !f.d.Replicas.AwaitFetch(&f.plan, f.maxWait, f.wake) {
		f.r.NoReply()
		return false
	}
	return true
}

// replan makes the plan anew, with the partitions that woke. Another request may have the session meanwhile,
// though the client shouldn't make one; the plan stays as it is then.
func (f *fetch) replan() {
	s := f.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != f.epoch || !s.wake() {
		return
	}
	clear(f.plan.Partitions)
	f.keys, f.plan.Partitions = f.keys[:0], f.plan.Partitions[:0]
	f.planSession()
}

// wake runs the plan again. It is called on a goroutine of its own.
func (f *fetch) wake(expired bool) {
	defer f.d.guard(f.r)
	f.img = f.d.Image()
	if f.session != nil {
		f.replan()
	}
	if !f.d.Replicas.Fetch(&f.plan) && !expired {
		f.park()
		return
	}
	f.d.Replicas.CancelFetch(&f.plan) // The timer isn't needed any more.
	f.reply()
}

// refuse answers every partition, and the request, with one error.
func (f *fetch) refuse(code *kerr.Error) {
	answer := fetchAnswer{version: f.r.Version, errorCode: code.Code}
	for i := range f.plan.Partitions {
		fp := &f.plan.Partitions[i]
		answer.partitions = append(answer.partitions, fetchAnswerPartition{topic: f.keys[i].topic, topicID: f.keys[i].id,
			code: code.Code, emptyAborted: true, leader: noLeaderHint, result: fp})
	}
	f.r.ReplyChunks(answer.encode())
}

// reply sends what the plan has found; the partitions that were never read come last, as in Kafka.
func (f *fetch) reply() {
	if f.r.Version < fetchZstd {
		for i := range f.plan.Partitions {
			f.withholdZstd(&f.plan.Partitions[i])
		}
	}
	answer := &f.answer
	*answer = fetchAnswer{version: f.r.Version, partitions: answer.partitions[:0], memory: answer.memory}
	switch {
	case f.session != nil:
		s := f.session
		s.mu.Lock()
		if s.epoch != f.epoch {
			s.mu.Unlock()
			f.plan.Release()
			answer.errorCode = kerr.InvalidFetchSessionEpoch.Code
			f.r.ReplyChunks(answer.encode())
			return
		}
		answer.sessionID = s.id
		f.collect(answer, func(i int) bool { return f.newsOf(s, i) })
		s.mu.Unlock()
	case f.createSession:
		answer.sessionID = f.newSession()
		f.collect(answer, nil)
	default:
		f.collect(answer, nil)
	}
	f.r.ReplyChunks(answer.encode())
}

// collect lists the partitions to answer; tell says which, all if it is nil.
func (f *fetch) collect(answer *fetchAnswer, tell func(i int) bool) {
	for _, refused := range [...]bool{false, true} {
		for i := range f.plan.Partitions {
			fp := &f.plan.Partitions[i]
			if fp.Refused() != refused || tell != nil && !tell(i) {
				continue
			}
			p := fetchAnswerPartition{topic: f.keys[i].topic, topicID: f.keys[i].id, emptyAborted: refused, leader: noLeaderHint, result: fp}
			if fp.Err != nil {
				p.code = f.d.codeOf(fp.Err, "fetch", "topic", fp.Topic, "partition", fp.Partition)
				if f.r.Version >= fetchEndpoints && wantsLeaderHint(fp.Err) {
					p.leader = leaderOf(f.img, fp.Topic, fp.Partition)
					answer.brokers.add(f.d, f.r, f.img, p.leader.id)
				}
			}
			answer.partitions = append(answer.partitions, p)
		}
	}
}

// newsOf tells whether the session's client is to hear of a partition. Requires: s.mu held.
func (f *fetch) newsOf(s *fetchSession, i int) bool {
	c := s.partitions[f.keys[i]]
	fp := &f.plan.Partitions[i]
	if c == nil {
		return false
	}
	tell := c.news(fp)
	if fp.Records != nil && fp.Records.Len() > 0 {
		s.pushBack(c)
	} else {
		s.settle(f.d.Replicas, c, &f.plan, fp)
	}
	return tell
}

// newSession remembers the partitions of a full fetch with what is answered now. It returns the
// session's id, 0 if there is no room for one.
func (f *fetch) newSession() int32 {
	now := f.d.Clock.Now()
	s := newFetchSession(f.r.Version >= fetchTopicIDs, f.plan.ReplicaID >= 0, now)
	for i := range f.plan.Partitions {
		fp := &f.plan.Partitions[i]
		c := s.at(f.keys[i])
		c.name = fp.Topic
		c.fetchOffset, c.logStartOffset, c.maxBytes = fp.FetchOffset, fp.FollowerLogStartOffset, fp.MaxBytes
		c.leaderEpoch, c.lastFetchedEpoch = fp.CurrentLeaderEpoch, fp.LastFetchedEpoch
		c.news(fp)
	}
	s.asker = f.asker()
	id := f.d.fetchSessions.create(s, int(f.d.Configs.Broker().Network.FetchSessionCacheSlots), now)
	if id == 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range f.plan.Partitions {
		s.settle(f.d.Replicas, s.partitions[f.keys[i]], &f.plan, &f.plan.Partitions[i])
	}
	return id
}

func (pool *fetchPool) get() *fetch {
	if f, ok := pool.pool.Get().(*fetch); ok {
		return f
	}
	return &fetch{}
}

// maxPooledPartitions is the largest request whose memory is kept for the next one.
const maxPooledPartitions = 1024

// put takes back a fetch that never waited, and whose records were taken.
func (pool *fetchPool) put(f *fetch) {
	if cap(f.plan.Partitions) > maxPooledPartitions {
		return
	}
	f.d, f.r, f.img, f.session, f.createSession, f.plan.Rest = nil, nil, nil, nil, false, nil
	clear(f.keys)
	clear(f.plan.Partitions)
	clear(f.seen)
	clear(f.answer.partitions)
	clear(f.answer.memory.cuts)
	clear(f.answer.memory.chunks)
	f.keys, f.plan.Partitions = f.keys[:0], f.plan.Partitions[:0]
	pool.pool.Put(f)
}
