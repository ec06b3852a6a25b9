package controller

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// peerTransport is raft's transport between controllers. Beside carrying messages it finds voters where the
// configuration says that they are now, and notes what the leader learns of each.
type peerTransport struct {
	*raft.NetworkTransport
	c *Controller

	mu struct {
		sync.Mutex
		contacts map[raft.ServerID]contact
	}
}

// contact is what the leader knows of a voter.
type contact struct {
	// lastIndex is the last raft entry that the voter is known to have, and to have the same; a heartbeat's
	// answer doesn't tell.
	lastIndex uint64
	// at is when it last answered, caughtUp when it last had everything; zero if never.
	at, caughtUp time.Time
	// away tells that it didn't answer the last time; the log says so once.
	away bool
}

// poolSize is how many idle connections raft keeps to a peer: heartbeats, entries and commits each use one.
const poolSize = 3

func newPeerTransport(c *Controller) *peerTransport {
	t := &peerTransport{c: c}
	t.NetworkTransport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: c.layer, MaxPool: poolSize, MaxRPCsInFlight: 1, Timeout: c.timeouts.request, Logger: newRaftLogger(c.cfg.Logger),
	})
	t.mu.contacts = map[raft.ServerID]contact{}
	return t
}

// target is where a server is reached: where controller.quorum.voters says, else where it said itself.
func (t *peerTransport) target(id raft.ServerID, address raft.ServerAddress) raft.ServerAddress {
	if i, ok := parseIdentity(id); ok {
		if configured, ok := t.c.cfg.staticVoter(i.node); ok {
			address = raft.ServerAddress(configured)
		}
	}
	return target(id, address)
}

// contact is what is known of a server.
func (t *peerTransport) contact(id raft.ServerID) contact {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.contacts[id]
}

// forget drops what is known of all servers; called when this node begins to lead.
func (t *peerTransport) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.mu.contacts)
}

func (t *peerTransport) note(id raft.ServerID, matched, ours uint64) {
	now := t.c.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.mu.contacts[id]
	k.at, k.lastIndex = now, max(k.lastIndex, matched)
	if k.lastIndex >= ours {
		k.caughtUp = now
	}
	t.mu.contacts[id] = k
}

// noteAway logs when a voter stops answering and when it does again.
func (t *peerTransport) noteAway(id raft.ServerID, err error) {
	t.mu.Lock()
	k := t.mu.contacts[id]
	changed := k.away != (err != nil)
	k.away = err != nil
	t.mu.contacts[id] = k
	t.mu.Unlock()
	select {
	case <-t.c.dead:
		return
	default:
	}
	switch {
	case changed && err != nil:
		t.c.logger.Warn("a controller of the metadata quorum doesn't answer", "server", id, "error", err)
	case changed:
		t.c.logger.Info("a controller of the metadata quorum answers again", "server", id)
	}
}

// AppendEntries implements raft.Transport.
func (t *peerTransport) AppendEntries(id raft.ServerID, at raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	ours := t.c.lastIndex()
	err := t.NetworkTransport.AppendEntries(id, t.target(id, at), args, resp)
	t.noteAway(id, err)
	if err == nil && resp.Term <= args.Term {
		matched := uint64(0)
		if resp.Success {
			matched = args.PrevLogEntry
			if n := len(args.Entries); n > 0 {
				matched = args.Entries[n-1].Index
			}
		}
		t.note(id, matched, ours)
		if len(args.Entries) > 0 && resp.Success {
			t.c.commits.tellLate(id, at, args.LeaderCommitIndex)
		}
	}
	return err
}

// AppendEntriesPipeline implements raft.Transport. Entries are sent in batches as they are; a pipeline would gain little
// and hide what a voter has.
func (t *peerTransport) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// RequestVote implements raft.Transport.
func (t *peerTransport) RequestVote(id raft.ServerID, at raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	return t.NetworkTransport.RequestVote(id, t.target(id, at), args, resp)
}

// RequestPreVote implements raft.WithPreVote.
func (t *peerTransport) RequestPreVote(id raft.ServerID, at raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	return t.NetworkTransport.RequestPreVote(id, t.target(id, at), args, resp)
}

// InstallSnapshot implements raft.Transport.
func (t *peerTransport) InstallSnapshot(id raft.ServerID, at raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	return t.NetworkTransport.InstallSnapshot(id, t.target(id, at), args, resp, data)
}

// TimeoutNow implements raft.Transport.
func (t *peerTransport) TimeoutNow(id raft.ServerID, at raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	return t.NetworkTransport.TimeoutNow(id, t.target(id, at), args, resp)
}

// EncodePeer implements raft.Transport. Raft remembers whom it voted for by what this returns, so that it
// names the replica and not just its address.
func (t *peerTransport) EncodePeer(id raft.ServerID, at raft.ServerAddress) []byte {
	return []byte(target(id, at))
}

// DecodePeer implements raft.Transport.
func (t *peerTransport) DecodePeer(b []byte) raft.ServerAddress {
	if _, after, ok := strings.Cut(string(b), "|"); ok {
		return raft.ServerAddress(after)
	}
	return raft.ServerAddress(b)
}

// Close implements raft.WithClose.
func (t *peerTransport) Close() error {
	t.CloseStreams()
	return t.NetworkTransport.Close()
}

// electSelf implements selfElector.
func (t *peerTransport) electSelf() error {
	self := t.c.self.serverID()
	return t.TimeoutNow(self, t.LocalAddr(), &raft.TimeoutNowRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(self), Addr: t.EncodePeer(self, t.LocalAddr())},
	}, &raft.TimeoutNowResponse{})
}
