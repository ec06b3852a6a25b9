package decide

import (
	"slices"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// brokerState is what a broker is told to be (Kafka: BrokerControlState).
type brokerState int

const (
	stateFenced brokerState = iota
	stateActive
	// stateShutdown brokers hand over their leaderships.
	stateShutdown
	// stateGone brokers may end now.
	stateGone
)

// heartbeat answers a broker and decides on what follows from it: unfencing once it has the image up
// to its own registration (KIP-631), fencing, the steps of a controlled shutdown, and directories that
// failed (KIP-858) or are cordoned (KIP-1066). Heartbeats themselves aren't recorded.
func heartbeat(env *Env, req *kmsg.BrokerHeartbeatRequest) Decision {
	resp := req.ResponseKind().(*kmsg.BrokerHeartbeatResponse)
	b := env.Image.Broker(req.BrokerID)
	if b == nil || b.Epoch != req.BrokerEpoch {
		resp.ErrorCode = kerr.StaleBrokerEpoch.Code
		return Decision{Response: resp}
	}
	if env.Live != nil {
		env.Live.Note(b.ID, b.Epoch, env.Now)
	}
	was, is := stateOf(b), nextState(env, b, req)
	w := newWork(env)
	switch {
	case is == stateActive && was == stateFenced:
		w.add(unfence(env, b)...)
	case is == stateShutdown:
		w.add(enterShutdown(env, b)...)
	case was != stateFenced && (is == stateFenced || is == stateGone):
		w.add(fence(env, b)...)
	}
	w.add(failDirectories(env, w.image, b, req.OfflineLogDirs)...)
	w.add(cordonDirectories(w.image, b, req)...)
	noteHeartbeat(env, b, req, is, w.image.Offset())

	resp.IsCaughtUp = isCaughtUp(b, req)
	resp.IsFenced = is == stateFenced || is == stateGone
	resp.ShouldShutdown = is == stateGone
	// A part of an unfencing would leave partitions without a leader that nobody looks for.
	return Decision{Records: w.records, Response: resp, Divisible: was != stateFenced}
}

func stateOf(b *image.Broker) brokerState {
	switch {
	case b.Fenced:
		return stateFenced
	case b.InControlledShutdown:
		return stateShutdown
	}
	return stateActive
}

// isCaughtUp tells whether a broker has seen its own registration.
func isCaughtUp(b *image.Broker, req *kmsg.BrokerHeartbeatRequest) bool {
	return req.CurrentMetadataOffset >= b.Epoch
}

func nextState(env *Env, b *image.Broker, req *kmsg.BrokerHeartbeatRequest) brokerState {
	switch stateOf(b) {
	case stateFenced:
		switch {
		case req.WantShutdown:
			return stateGone
		case !req.WantFence && !b.InControlledShutdown && isCaughtUp(b, req):
			return stateActive
		}
		return stateFenced
	case stateShutdown:
		if leads(env.Image, b.ID) || !handedOver(env, b) {
			return stateShutdown
		}
		return stateGone
	}
	switch {
	case req.WantFence && req.WantShutdown:
		return stateGone
	case req.WantFence:
		return stateFenced
	case req.WantShutdown && leads(env.Image, b.ID):
		return stateShutdown
	case req.WantShutdown:
		return stateGone
	}
	return stateActive
}

// handedOver tells whether all active brokers know that a broker in controlled shutdown leads nothing
// any more. Without a memory of heartbeats there's nothing to wait for.
func handedOver(env *Env, b *image.Broker) bool {
	if env.Live == nil {
		return true
	}
	c := env.Live.of(b.ID, b.Epoch)
	if c == nil || c.shutdownOffset < 0 {
		return false // the former active controller moved its leaders; start to count from here
	}
	lowest, ok := env.Live.activeOffset(env.Image)
	return !ok || lowest >= c.shutdownOffset
}

// enterShutdown marks a broker as shutting down and moves its leaderships to others.
func enterShutdown(env *Env, b *image.Broker) []metadata.Record {
	var records []metadata.Record
	if !b.InControlledShutdown {
		records = append(records, &metadata.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch, InControlledShutdown: changeShutdown})
	}
	return append(records, leaveISRs(newTopicRules(env, env.Image), b.ID)...)
}

// noteHeartbeat remembers what the heartbeat said; offset is that of its own last record.
func noteHeartbeat(env *Env, b *image.Broker, req *kmsg.BrokerHeartbeatRequest, is brokerState, offset int64) {
	if env.Live == nil {
		return
	}
	c := env.Live.of(b.ID, b.Epoch)
	if c == nil {
		return
	}
	c.offset = req.CurrentMetadataOffset
	switch {
	case is != stateShutdown:
		c.shutdownOffset = -1
	case c.shutdownOffset < 0:
		c.shutdownOffset = offset
	}
	if is == stateGone {
		// It stopped by itself and may be back at once.
		env.Live.endSession(b.ID, b.Epoch)
	}
}

// failDirectories takes the replicas in directories that went offline out of ISRs and leaderships.
// They may stay eligible, but can't lead before the directory is back.
func failDirectories(env *Env, m *image.Image, b *image.Broker, offline [][16]byte) []metadata.Record {
	rest := slices.DeleteFunc(slices.Clone(b.LogDirs), func(d image.ID) bool { return slices.Contains(offline, d) })
	if len(rest) == len(b.LogDirs) {
		return nil
	}
	var records []metadata.Record
	rules := newTopicRules(env, m)
	for ref := range m.ReplicasOn(b.ID) {
		p := ref.Partition
		dir := p.Directories[slices.Index(p.Replicas, b.ID)]
		if !slices.Contains(p.ISR, b.ID) || !slices.Contains(b.LogDirs, dir) || slices.Contains(rest, dir) {
			continue
		}
		c := newPartitionChange(rules, ref)
		c.remove = b.ID
		records = appendChange(records, rules, ref, c, b.ID)
	}
	if len(rest) == 0 {
		// A record can't say that nothing is left: an empty list means no change. A broker without a
		// directory ends itself, and is fenced for its silence.
		return records
	}
	return append(records, &metadata.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch, LogDirs: rest})
}

// cordonDirectories notes which directories take no new replicas.
func cordonDirectories(m *image.Image, b *image.Broker, req *kmsg.BrokerHeartbeatRequest) []metadata.Record {
	if req.CordonedLogDirs == nil || slices.Equal(slices.SortedFunc(slices.Values(req.CordonedLogDirs), compareIDs),
		slices.SortedFunc(slices.Values(m.Broker(b.ID).CordonedLogDirs), compareIDs)) {
		return nil
	}
	return []metadata.Record{&metadata.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch, CordonedLogDirs: slices.Clone(req.CordonedLogDirs)}}
}
