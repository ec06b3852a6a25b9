package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// snapshotThreshold is how many entries make a new snapshot worth while, trailingLogs how many are
	// kept behind it for voters that lag.
	snapshotThreshold = 8192
	trailingLogs      = 2048
	// snapshotInterval is how often raft looks whether a snapshot is due.
	snapshotInterval = 2 * time.Minute
)

// raftNode is a running raft with what must be closed after it.
type raftNode struct {
	*raft.Raft
	stores Stores
	// peers is nil for a quorum of one that stays so.
	peers *peerTransport
}

// startRaft opens the stores, founds a new quorum if that is this node's part, and starts raft.
func (c *Controller) startRaft(ctx context.Context) (*raftNode, error) {
	stores, err := c.cfg.Stores()
	if err != nil {
		return nil, fmt.Errorf("opening the metadata log: %w", err)
	}
	n := &raftNode{stores: stores}
	if err := c.newRaft(ctx, n); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the metadata quorum: %w", err), stores.Close())
	}
	return n, nil
}

func (c *Controller) newRaft(ctx context.Context, n *raftNode) error {
	known, err := configuration(n.stores)
	if err != nil {
		return err
	}
	c.self = chooseIdentity(&c.cfg, known)
	c.known.Store(len(known.Servers) > 0)
	c.opened.Store(true)
	var transport raft.Transport
	if c.cfg.Network == nil {
		if transport, err = newLoopback(c.self.serverID()); err != nil {
			return err
		}
	} else {
		n.peers = newPeerTransport(c)
		transport = n.peers
	}
	founded, err := c.found(ctx, n.stores, known, transport)
	if err == nil {
		n.Raft, err = raft.NewRaft(c.raftConfig(), c.fsm, n.stores.Log, n.stores.Stable, n.stores.Snapshots, transport)
	}
	if err == nil {
		c.observeLeaders(n.Raft)
	}
	if err != nil {
		return errors.Join(err, closeTransport(transport))
	}
	// The founder knows that the others are there and wait for a leader.
	if e, ok := transport.(selfElector); ok && (founded || soleVoter(n.servers(), c.self.serverID())) {
		if err := e.electSelf(); err != nil {
			return errors.Join(err, n.shutdown())
		}
	}
	return nil
}

func closeTransport(t raft.Transport) error {
	if closer, ok := t.(raft.WithClose); ok {
		return closer.Close()
	}
	return nil
}

func (c *Controller) raftConfig() *raft.Config {
	rc := raft.DefaultConfig()
	rc.LocalID = c.self.serverID()
	rc.Logger = newRaftLogger(c.cfg.Logger)
	rc.NotifyCh = c.loop.leadership
	// Buffered, raft would forget at shutdown the entries that it hasn't taken yet, and their futures
	// would never be answered.
	rc.BatchApplyCh = false
	// A node that is removed goes on as an observer.
	rc.ShutdownOnRemove = false
	rc.SnapshotThreshold, rc.SnapshotInterval, rc.TrailingLogs = snapshotThreshold, snapshotInterval, trailingLogs
	if c.cfg.Network != nil {
		t := c.timeouts
		rc.HeartbeatTimeout, rc.LeaderLeaseTimeout, rc.ElectionTimeout = t.contact, t.contact, t.election
		// Commits are told at once, see commits.go; this is for those that get lost.
		rc.CommitTimeout = t.contact / 2
	}
	return rc
}

// found writes the first configuration of a new quorum, if that is this node's part.
func (c *Controller) found(ctx context.Context, stores Stores, known raft.Configuration, transport raft.Transport) (bool, error) {
	if len(known.Servers) > 0 {
		return false, nil
	}
	servers := []raft.Server{{ID: c.self.serverID(), Address: transport.LocalAddr()}}
	switch c.cfg.founding() {
	case foundingWaits:
		return false, nil
	case foundingLeads:
		var err error
		if servers, err = c.gather(ctx); err != nil || len(servers) == 0 {
			return false, err
		}
	}
	first := raft.Configuration{Servers: servers}
	err := raft.BootstrapCluster(c.raftConfig(), stores.Log, stores.Stable, stores.Snapshots, transport, first)
	if errors.Is(err, raft.ErrCantBootstrap) {
		err = finishBootstrap(stores, first)
	}
	c.known.Store(err == nil)
	return err == nil, err
}

// finishBootstrap repairs what a crash within raft's bootstrap leaves behind: raft writes its term
// first and the configuration after it, and takes a term alone for a quorum that exists, in which
// nobody could ever be elected. Requires: the stores hold no configuration.
func finishBootstrap(stores Stores, servers raft.Configuration) error {
	last, err := stores.Log.LastIndex()
	if err != nil {
		return err
	}
	if last > 0 {
		return errors.New("the metadata log has entries but no configuration")
	}
	return stores.Log.StoreLog(&raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(servers)})
}

// configuration is the newest one in the stores; empty for a node that knows of no quorum.
func configuration(stores Stores) (raft.Configuration, error) {
	var found raft.Configuration
	snapshots, err := stores.Snapshots.List()
	if err != nil {
		return found, err
	}
	var from uint64 // What the log has of before the snapshot may have gaps.
	if len(snapshots) > 0 {
		found, from = snapshots[0].Configuration, snapshots[0].Index
	}
	first, err := stores.Log.FirstIndex()
	if err != nil {
		return found, err
	}
	last, err := stores.Log.LastIndex()
	if err != nil {
		return found, err
	}
	for i := max(first, from+1, 1); i <= last; i++ {
		var entry raft.Log
		if err := stores.Log.GetLog(i, &entry); err != nil {
			return found, err
		}
		if entry.Type == raft.LogConfiguration {
			found = raft.DecodeConfiguration(entry.Data)
		}
	}
	return found, nil
}

// chooseIdentity is who this node is in the quorum: its id and directory; the id alone in a quorum that was
// founded by a version without directories.
func chooseIdentity(cfg *Config, known raft.Configuration) identity {
	plain := identity{node: cfg.NodeID}
	for _, s := range known.Servers {
		if s.ID == plain.serverID() {
			return plain
		}
	}
	return identity{node: cfg.NodeID, directory: cfg.DirectoryID}
}

// soleVoter tells whether the quorum is this node alone.
func soleVoter(servers []raft.Server, self raft.ServerID) bool {
	voters := 0
	for _, s := range servers {
		if s.Suffrage == raft.Voter {
			voters++
			if s.ID != self {
				return false
			}
		}
	}
	return voters == 1
}

// servers is the newest configuration, whether it is committed or not.
func (n *raftNode) servers() []raft.Server {
	f := n.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// votes tells whether a replica is a voter in the newest configuration.
func (n *raftNode) votes(id raft.ServerID) bool {
	for _, s := range n.servers() {
		if s.ID == id {
			return s.Suffrage == raft.Voter
		}
	}
	return false
}

// barrier waits until everything committed before is applied. It returns the term of this node's
// leadership, which is that of the barrier's own entry: the current term may be another one's by now.
func (n *raftNode) barrier() (term uint64, err error) {
	f := n.Barrier(0)
	if err := f.Error(); err != nil {
		return 0, err
	}
	indexed, ok := f.(raft.IndexFuture)
	if !ok {
		return 0, errors.New("raft's barrier has no index")
	}
	var entry raft.Log
	if err := n.stores.Log.GetLog(indexed.Index(), &entry); err != nil {
		return 0, err
	}
	return entry.Term, nil
}

// handOver gives the leadership to another voter, if this node has it and there is one, so that the others
// needn't miss this node first. Raft bounds it by its election timeout.
func (n *raftNode) handOver(self raft.ServerID) {
	if n.peers != nil && n.State() == raft.Leader && !soleVoter(n.servers(), self) {
		_ = n.LeadershipTransfer().Error() // They elect one without it.
	}
}

func (n *raftNode) shutdown() error { return n.Shutdown().Error() }

func (n *raftNode) closeStores() error { return n.stores.Close() }

// voterNames lists the voters as Kafka's messages do.
func (n *raftNode) voterNames() string {
	var names []string
	for _, s := range n.servers() {
		if i, ok := parseIdentity(s.ID); ok && s.Suffrage == raft.Voter {
			names = append(names, i.text())
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}
