package controller

import (
	"time"

	"github.com/hashicorp/raft"
)

// selfElector is a transport that can tell its own node to stand for election now.
type selfElector interface{ electSelf() error }

// loopback is the transport of a quorum of one.
type loopback struct {
	*raft.InmemTransport
	self raft.ServerID
}

// loopbackTimeout bounds a message to oneself.
const loopbackTimeout = 5 * time.Second

// newLoopback is the transport of a node that is the only voter for good.
func newLoopback(self raft.ServerID) (raft.Transport, error) {
	addr, t := raft.NewInmemTransportWithTimeout(raft.ServerAddress(self), loopbackTimeout)
	t.Connect(addr, t)
	return &loopback{InmemTransport: t, self: self}, nil
}

// electSelf sends this node what a leader sends to whom it hands its leadership. A sole voter would
// otherwise wait for the heartbeat timeout before it elects itself; making that timeout short
// instead would have raft wake up a hundred times a second for good.
func (t *loopback) electSelf() error {
	return t.TimeoutNow(t.self, t.LocalAddr(), &raft.TimeoutNowRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(t.self), Addr: t.EncodePeer(t.self, t.LocalAddr())},
	}, &raft.TimeoutNowResponse{})
}
