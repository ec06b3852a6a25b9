package controller

import (
	"errors"
	"fmt"
	"strconv"
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
}

// startRaft opens the stores and starts raft. A node without any state becomes the only voter of a
// new quorum; raft then elects it at once.
func startRaft(cfg Config, machine raft.FSM, leadership chan<- bool) (*raftNode, error) {
	stores, err := cfg.Stores()
	if err != nil {
		return nil, fmt.Errorf("opening the metadata log: %w", err)
	}
	r, err := newRaft(cfg, machine, leadership, stores)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the metadata quorum: %w", err), stores.Close())
	}
	return &raftNode{Raft: r, stores: stores}, nil
}

func newRaft(cfg Config, machine raft.FSM, leadership chan<- bool, stores Stores) (*raft.Raft, error) {
	self := raft.ServerID(strconv.Itoa(int(cfg.NodeID)))
	transport, err := cfg.Transport(self)
	if err != nil {
		return nil, err
	}
	rc := raft.DefaultConfig()
	rc.LocalID = self
	rc.Logger = newRaftLogger(cfg.Logger)
	rc.NotifyCh = leadership
	// Buffered, raft would forget at shutdown the entries that it hasn't taken yet, and their futures
	// would never be answered.
	rc.BatchApplyCh = false
	rc.SnapshotThreshold, rc.SnapshotInterval, rc.TrailingLogs = snapshotThreshold, snapshotInterval, trailingLogs
	servers := raft.Configuration{Servers: []raft.Server{{ID: self, Address: transport.LocalAddr()}}}
	err = raft.BootstrapCluster(rc, stores.Log, stores.Stable, stores.Snapshots, transport, servers)
	if errors.Is(err, raft.ErrCantBootstrap) {
		err = finishBootstrap(stores, servers)
	}
	if err != nil {
		return nil, err
	}
	r, err := raft.NewRaft(rc, machine, stores.Log, stores.Stable, stores.Snapshots, transport)
	if err != nil {
		return nil, err
	}
	if e, ok := transport.(selfElector); ok && soleVoter(r, self) {
		if err := e.electSelf(); err != nil {
			return nil, errors.Join(err, r.Shutdown().Error())
		}
	}
	return r, nil
}

// finishBootstrap repairs what a crash within raft's bootstrap leaves behind: raft writes its term
// first and the configuration after it, and takes a term alone for a quorum that exists, in which
// nobody could ever be elected.
func finishBootstrap(stores Stores, servers raft.Configuration) error {
	last, err := stores.Log.LastIndex()
	if err != nil || last > 0 {
		return err
	}
	snapshots, err := stores.Snapshots.List()
	if err != nil || len(snapshots) > 0 {
		return err
	}
	return stores.Log.StoreLog(&raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(servers)})
}

// soleVoter tells whether the quorum is this node alone.
func soleVoter(r *raft.Raft, self raft.ServerID) bool {
	f := r.GetConfiguration()
	if f.Error() != nil {
		return false
	}
	voters := 0
	for _, s := range f.Configuration().Servers {
		if s.Suffrage == raft.Voter {
			voters++
			if s.ID != self {
				return false
			}
		}
	}
	return voters == 1
}

func (n *raftNode) shutdown() error { return n.Shutdown().Error() }

func (n *raftNode) closeStores() error { return n.stores.Close() }
