package controller

import (
	"github.com/hashicorp/raft"
)

// brokerGone says that a broker's connection to this controller ended.
type brokerGone struct {
	broker int32
	epoch  int64
}

// BrokerDisconnected says that the connection ended by which a broker's heartbeats came: it has most likely died, and
// needn't be waited for as long as one that is silent. It doesn't block, and may be lost: the session's end will do.
func (c *Controller) BrokerDisconnected(broker int32, epoch int64) {
	select {
	case c.loop.gone <- brokerGone{broker, epoch}:
	default:
	}
}

// noteLeader remembers who led before this node will.
func (l *loop) noteLeader(o raft.Observation) {
	change, ok := o.Data.(raft.LeaderObservation)
	if !ok || change.LeaderID == "" {
		return
	}
	if id, ok := parseIdentity(change.LeaderID); ok && id.node != l.c.cfg.NodeID {
		l.formerLeader = id.node
	}
}

// observeLeaders has the loop told of the quorum's leaders.
func (c *Controller) observeLeaders(r *raft.Raft) {
	r.RegisterObserver(raft.NewObserver(c.loop.suspects, false, func(o *raft.Observation) bool {
		_, ok := o.Data.(raft.LeaderObservation)
		return ok
	}))
}
