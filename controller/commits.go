package controller

import (
	"sync"

	"github.com/hashicorp/raft"
)

// commits tells the other voters of commits at once. Raft itself tells them with the next entries or,
// if there are none, after its commit timeout; with that timeout short an idle quorum would never be
// idle, with it long a client of a follower would wait for what it wrote.
//
// The message is raft's own: "your log matches mine up to this entry, and I committed it", which a leader
// may send at any time. A voter that lacks the entry refuses it.
type commits struct {
	c *Controller

	mu struct {
		sync.Mutex
		// index and entryTerm are those of the last entry committed, term that of the leadership.
		index, entryTerm, term uint64
		// busy are the voters that a message is under way to; true if they took entries meanwhile, so
		// that they are to be looked at again.
		busy   map[raft.ServerID]bool
		closed bool
	}
	sending sync.WaitGroup
}

func newCommits(c *Controller) *commits {
	k := &commits{c: c}
	k.mu.busy = map[raft.ServerID]bool{}
	return k
}

// tell spreads a commit; called by raft's state machine goroutine and by the loop.
func (k *commits) tell(index, entryTerm uint64) {
	node := k.c.raft.Load()
	term, active := k.c.active.get()
	if node == nil || node.peers == nil || !active {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.closed {
		return
	}
	if term > k.mu.term || index > k.mu.index {
		k.mu.index, k.mu.entryTerm, k.mu.term = index, entryTerm, term
	}
	for _, s := range node.servers() {
		if _, busy := k.mu.busy[s.ID]; s.ID != k.c.self.serverID() && !busy {
			k.mu.busy[s.ID] = false
			k.sending.Go(func() { k.send(node, s) })
		}
	}
}

// tellLate tells a voter that has just taken entries of a commit that came before its answer, if there was
// one after known, which the entries told of.
func (k *commits) tellLate(id raft.ServerID, at raft.ServerAddress, known uint64) {
	node := k.c.raft.Load()
	term, active := k.c.active.get()
	if node == nil || !active {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.closed || k.mu.term != term || k.mu.index <= known {
		return
	}
	if _, busy := k.mu.busy[id]; busy {
		k.mu.busy[id] = true
		return
	}
	k.mu.busy[id] = false
	k.sending.Go(func() { k.send(node, raft.Server{ID: id, Address: at}) })
}

// send tells one voter until it knows the newest commit or doesn't answer.
func (k *commits) send(node *raftNode, to raft.Server) {
	var told uint64
	ok := true
	for {
		k.mu.Lock()
		index, entryTerm, term := k.mu.index, k.mu.entryTerm, k.mu.term
		now, active := k.c.active.get()
		again := k.mu.busy[to.ID]
		if (!ok || index <= told) && !again || k.mu.closed || !active || now != term {
			delete(k.mu.busy, to.ID)
			k.mu.Unlock()
			return
		}
		k.mu.busy[to.ID] = false
		k.mu.Unlock()
		if ok = node.peers.contact(to.ID).lastIndex >= index && k.sendOne(node, to, index, entryTerm, term); ok {
			told = index
		}
	}
}

func (k *commits) sendOne(node *raftNode, to raft.Server, index, entryTerm, term uint64) bool {
	self := k.c.self.serverID()
	addr := node.peers.EncodePeer(self, node.peers.LocalAddr())
	req := &raft.AppendEntriesRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(self), Addr: addr},
		Term:      term, PrevLogEntry: index, PrevLogTerm: entryTerm, LeaderCommitIndex: index,
	}
	var resp raft.AppendEntriesResponse
	return node.peers.AppendEntries(to.ID, to.Address, req, &resp) == nil
}

// close waits for messages that are under way.
func (k *commits) close() {
	k.mu.Lock()
	k.mu.closed = true
	k.mu.Unlock()
	k.sending.Wait()
}
