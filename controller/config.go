package controller

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/config"
)

// Role is what a node does for the cluster's metadata.
type Role int8

const (
	// RoleController runs raft: a voter, or a node that may become one. The zero value.
	RoleController Role = iota
	// RoleBroker follows the active controller and forwards requests to it; it keeps nothing on disk.
	RoleBroker
)

// Config is what a Controller is made of.
type Config struct {
	// NodeID is this node's node.id.
	NodeID int32
	// Role is RoleController where process.roles has controller, else RoleBroker.
	Role Role
	// Settings are the node's static settings; dynamic ones are taken from the image.
	Settings *config.Broker
	// ClusterID is the cluster that the log directories belong to already; empty for a new node. A
	// node doesn't start into another cluster. A new cluster that this node founds gets it, or a
	// random one where it is empty.
	ClusterID string
	// Voters is controller.quorum.voters; Bootstrap is controller.quorum.bootstrap.servers. Either may be empty; a
	// controller for which neither names another node is a quorum of its own.
	Voters    []config.Voter
	Bootstrap []config.HostPort
	// Endpoint is where this node's controller is reached by others: the first of its controller
	// listeners. Empty for RoleBroker.
	Endpoint image.Endpoint
	// Endpoints are all controller listeners, for its registration; Endpoint alone where empty.
	Endpoints []image.Endpoint
	// DirectoryID is the id of the directory that holds the stores. With Network it must be set: it
	// tells a voter from one that lost its disk.
	DirectoryID image.ID

	// Stores opens what raft keeps; see DiskStores and MemoryStores. Not used by RoleBroker.
	Stores StoreFactory
	// Network reaches other nodes' controller listeners; nil for a quorum of one that stays so.
	Network Network
	// Forwarder sends requests to the active controller; nil where Network is.
	Forwarder Forwarder

	Logger *slog.Logger
	Clock  clock.Clock
	// Rand places replicas and makes ids; used by New and then by the controller's loop alone.
	Rand *rand.Rand
	// OnFatal is called, at most once and on a goroutine that must not wait for Close, when this node
	// can't go on: a record it doesn't know, or a store that failed. May be nil.
	OnFatal func(error)
}

func (cfg *Config) check() error {
	switch {
	case cfg.Settings == nil, cfg.Logger == nil, cfg.Clock == nil, cfg.Rand == nil:
		return errors.New("controller: Settings, Logger, Clock and Rand are needed")
	case cfg.Role == RoleController && cfg.Stores == nil:
		return errors.New("controller: Stores are needed")
	case cfg.Role == RoleBroker && cfg.Network == nil:
		return errors.New("controller: a broker needs a Network to reach the controllers")
	case (cfg.Network == nil) != (cfg.Forwarder == nil):
		return errors.New("controller: Network and Forwarder go together")
	case cfg.Network != nil && cfg.Role == RoleController && cfg.DirectoryID == image.ID{}:
		return errors.New("controller: a controller with a Network needs a DirectoryID")
	case cfg.Network == nil && len(cfg.others()) > 0:
		return errors.New("controller: other controllers are configured, but there is no Network")
	}
	return nil
}

// address is where this node is reached.
func (cfg *Config) address() string { return hostPort(cfg.Endpoint.Host, int32(cfg.Endpoint.Port)) }

// others are the addresses of other controllers that the configuration names.
func (cfg *Config) others() []string {
	var list []string
	for _, v := range cfg.Voters {
		if v.ID != cfg.NodeID {
			list = append(list, hostPort(v.Host, v.Port))
		}
	}
	for _, b := range cfg.Bootstrap {
		if a := b.String(); cfg.Role == RoleBroker || a != cfg.address() {
			list = append(list, a)
		}
	}
	return list
}

// staticVoter returns the configured address of a voter.
func (cfg *Config) staticVoter(id int32) (address string, ok bool) {
	for _, v := range cfg.Voters {
		if v.ID == id {
			return hostPort(v.Host, v.Port), true
		}
	}
	return "", false
}

func (cfg *Config) endpoints() []image.Endpoint {
	if len(cfg.Endpoints) == 0 && cfg.Endpoint.Name != "" {
		return []image.Endpoint{cfg.Endpoint}
	}
	return cfg.Endpoints
}

// timeouts are the quorum's, out of controller.quorum.*; docs/operations.md tells how.
type timeouts struct {
	// contact is how long a follower hears nothing of its leader before it asks for votes, at least,
	// and how long a leader goes on without a majority.
	contact time.Duration
	// election is how long a candidate waits for votes, at least.
	election time.Duration
	// request bounds a message to another controller.
	request time.Duration
	// retry is the pause after one that failed.
	retry time.Duration
}

// minTimeout is what raft can work with.
const minTimeout = 50 * time.Millisecond

func (cfg *Config) timeouts() timeouts {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	q := &cfg.Settings.Quorum
	// Raft's follower looks at its clock every one to two timeouts and may need three to notice; Kafka's
	// notices after one.
	t := timeouts{contact: max(ms(q.FetchTimeoutMs)/5, minTimeout), request: max(ms(q.RequestTimeoutMs), minTimeout)}
	t.election = max(ms(q.ElectionTimeoutMs)/2, t.contact)
	t.retry = max(ms(cfg.Settings.Int("controller.quorum.retry.backoff.ms")), 5*time.Millisecond)
	return t
}

func hostPort(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
