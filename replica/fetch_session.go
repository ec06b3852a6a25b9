package replica

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchVersion is the version of the fetches: topic ids (13), replica state with the broker epoch (15).
// The leader answers divergence since 12.
const fetchVersion = 17

// fetchSession is the follower's side of an incremental fetch session (KIP-227): what the leader knows of
// what is asked, so that a request names only what changed. Pure; its fetcher guards it.
type fetchSession struct {
	// id is the leader's, 0 without a session; epoch is the next request's, 0 for a full one.
	id, epoch int32
	// asked is what the leader was told, or is told with the next request.
	asked map[sessionKey]*askedPartition
	// changed is what the next request tells, forgotten what it takes back.
	changed   []*askedPartition
	forgotten map[sessionKey]struct{}
}

type sessionKey struct {
	topicID   [16]byte
	partition int32
}

type askedPartition struct {
	fd *followed
	a  ask
	// listed says that it stands in changed, told that the leader knows of the partition.
	listed, told bool
}

func newFetchSession() fetchSession {
	return fetchSession{asked: make(map[sessionKey]*askedPartition), forgotten: make(map[sessionKey]struct{})}
}

func keyOf(p *Partition) sessionKey { return sessionKey{p.topicID, p.index} }

// reset gives the session up: the next request is a full one, which also ends the old session.
func (s *fetchSession) reset() { s.epoch = 0 }

// begin prepares the next request, after which fds are asked for, and reports whether it is a full one:
// everything is to be asked for then. It is where the session has ended, and where a partition is to be
// asked for anew that the leader wasn't told to forget: it would leave out what it has answered already,
// which may have been dropped here.
func (s *fetchSession) begin(fds []*followed) (full bool) {
	for _, fd := range fds {
		if _, ok := s.forgotten[keyOf(fd.p)]; ok {
			s.epoch = 0
			break
		}
	}
	if s.epoch != 0 {
		return false
	}
	clear(s.asked)
	clear(s.forgotten)
	s.changed = nil
	return true
}

// ask has fd fetched as a says.
func (s *fetchSession) ask(fd *followed, a ask) {
	key := keyOf(fd.p)
	e := s.asked[key]
	if e == nil {
		e = &askedPartition{}
		s.asked[key] = e
	} else if e.told && e.a == a {
		e.fd = fd
		return
	}
	e.fd, e.a = fd, a
	if !e.listed {
		e.listed = true
		s.changed = append(s.changed, e)
	}
}

// forget has fd fetched no more, if it is.
func (s *fetchSession) forget(fd *followed) {
	key := keyOf(fd.p)
	e := s.asked[key]
	if e == nil || e.fd != fd {
		return
	}
	delete(s.asked, key)
	if e.told {
		s.forgotten[key] = struct{}{}
	}
	e.fd = nil
}

// empty tells that nothing is fetched.
func (s *fetchSession) empty() bool { return len(s.asked) == 0 }

// find is what was asked of a partition, nil if nothing.
func (s *fetchSession) find(topicID [16]byte, partition int32) *askedPartition {
	return s.asked[sessionKey{topicID, partition}]
}

// answered takes a successful response's session id over.
func (s *fetchSession) answered(id int32) {
	if id == 0 {
		s.id, s.epoch = 0, 0
		return
	}
	s.id = id
	if s.epoch == math.MaxInt32 {
		s.epoch = 0
	}
	s.epoch++
}

// request makes the request of what changed, which is told then.
func (s *fetchSession) request(partitionMaxBytes int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version = fetchVersion
	req.SessionID, req.SessionEpoch = s.id, s.epoch
	topics := make(map[[16]byte]int)
	for _, e := range s.changed {
		e.listed = false
		if e.fd == nil {
			continue // Forgotten before it was told.
		}
		e.told = true
		p := e.fd.p
		at, ok := topics[p.topicID]
		if !ok {
			at = len(req.Topics)
			topics[p.topicID] = at
			t := kmsg.NewFetchRequestTopic()
			t.TopicID = p.topicID
			req.Topics = append(req.Topics, t)
		}
		fp := kmsg.NewFetchRequestTopicPartition()
		fp.Partition, fp.CurrentLeaderEpoch, fp.FetchOffset = p.index, e.a.leaderEpoch, e.a.fetchOffset
		fp.LastFetchedEpoch, fp.LogStartOffset, fp.PartitionMaxBytes = e.a.lastFetchedEpoch, e.a.logStartOffset, partitionMaxBytes
		req.Topics[at].Partitions = append(req.Topics[at].Partitions, fp)
	}
	forgotten := make(map[[16]byte]int)
	for _, key := range slices.SortedFunc(maps.Keys(s.forgotten), compareKeys) {
		at, ok := forgotten[key.topicID]
		if !ok {
			at = len(req.ForgottenTopics)
			forgotten[key.topicID] = at
			t := kmsg.NewFetchRequestForgottenTopic()
			t.TopicID = key.topicID
			req.ForgottenTopics = append(req.ForgottenTopics, t)
		}
		req.ForgottenTopics[at].Partitions = append(req.ForgottenTopics[at].Partitions, key.partition)
	}
	s.changed = nil
	clear(s.forgotten)
	return req
}

func compareKeys(a, b sessionKey) int {
	return cmp.Or(bytes.Compare(a.topicID[:], b.topicID[:]), cmp.Compare(a.partition, b.partition))
}
