package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// members changes who votes (KIP-853). The active controller does, one change at a time; raft commits
// each by a majority of those who vote before it and after it.
//
// A replica is made a voter once it has nearly everything: until then it is a non-voter of raft. It is known by its node id
// and its directory, so that one whose disk was replaced must be added anew, and the old one be removed
// before: two voters with one node id are refused.
type members struct {
	c *Controller
	// changing is held by the one change that runs.
	changing sync.Mutex
}

// defaultChangeTimeout bounds a change for which the request names no time.
const defaultChangeTimeout = 15 * time.Second

// catchUpLag is how many entries a replica may lack when it is made a voter.
const catchUpLag = 64

// handles tells whether a request changes the voters.
func (m *members) handles(req kmsg.Request) bool {
	switch req.(type) {
	case *kmsg.AddRaftVoterRequest, *kmsg.RemoveRaftVoterRequest, *kmsg.UpdateRaftVoterRequest:
		return true
	}
	return false
}

// handle runs such a request.
func (m *members) handle(ctx context.Context, req kmsg.Request) (Forwarded, error) {
	term, active := m.c.active.get()
	if !active {
		return Forwarded{}, kerror.Wrap(kerr.NotController, ErrNotTaken)
	}
	resp := req.ResponseKind()
	var err error
	switch r := req.(type) {
	case *kmsg.AddRaftVoterRequest:
		err = m.add(ctx, r)
		out := resp.(*kmsg.AddRaftVoterResponse)
		out.ErrorCode, out.ErrorMessage = kerror.CodeOf(err), kerror.MessageOf(err)
	case *kmsg.RemoveRaftVoterRequest:
		err = m.remove(ctx, r)
		out := resp.(*kmsg.RemoveRaftVoterResponse)
		out.ErrorCode, out.ErrorMessage = kerror.CodeOf(err), kerror.MessageOf(err)
	case *kmsg.UpdateRaftVoterRequest:
		err = m.update(r, term)
		out := resp.(*kmsg.UpdateRaftVoterResponse)
		out.ErrorCode = kerror.CodeOf(err)
		at := m.c.cfg.Endpoint
		out.CurrentLeader.LeaderID, out.CurrentLeader.LeaderEpoch, out.CurrentLeader.Host, out.CurrentLeader.Port = m.c.cfg.NodeID, int32(term), at.Host, int32(at.Port)
	}
	if errors.Is(err, kerr.NotController) {
		return Forwarded{}, err
	}
	return Forwarded{Response: resp, Offset: -1}, nil
}

func (m *members) checkCluster(id *string) error {
	if id != nil && *id != m.c.Image().ClusterID() {
		return kerror.New(kerr.InconsistentClusterID, "The given id %q doesn't match the cluster id %q", *id, m.c.Image().ClusterID())
	}
	return nil
}

var errBusy = kerror.New(kerr.RequestTimedOut, "Request timed out waiting for leader to handle previous voter change request.")

func (m *members) add(ctx context.Context, r *kmsg.AddRaftVoterRequest) error {
	if err := m.checkCluster(r.ClusterID); err != nil {
		return err
	}
	id := identity{node: r.VoterID, directory: r.VoterDirectoryID}
	var address string
	var told []string
	for _, l := range r.Listeners {
		told = append(told, fmt.Sprintf("ListenerName(%s)=%s/<unresolved>:%d", l.Name, l.Host, l.Port))
		if l.Name == m.c.cfg.Endpoint.Name {
			address = hostPort(l.Host, int32(l.Port))
		}
	}
	switch {
	case r.VoterID < 0 || id.directory == (image.ID{}):
		return kerror.New(kerr.InvalidRequest, "Add voter request didn't include a valid voter")
	case address == "":
		return kerror.New(kerr.InvalidRequest, "Add voter request didn't include the endpoint (Endpoints(endpoints={%s})) for the default listener ListenerName(%s)",
			strings.Join(told, ", "), m.c.cfg.Endpoint.Name)
	}
	if !m.changing.TryLock() {
		return errBusy
	}
	defer m.changing.Unlock()
	node := m.c.raft.Load()
	if node.peers == nil {
		return kerror.New(kerr.UnsupportedVersion, "This quorum can't have more than one voter.")
	}
	for _, s := range node.servers() {
		if other, ok := parseIdentity(s.ID); ok && other.node == id.node && s.Suffrage == raft.Voter {
			return kerror.New(kerr.DuplicateVoter, "The voter id for %s is already part of the set of voters %s.", id.text(), node.voterNames())
		}
	}
	timeout := defaultChangeTimeout
	if r.TimeoutMillis > 0 {
		timeout = min(timeout, time.Duration(r.TimeoutMillis)*time.Millisecond)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer m.c.cfg.Clock.AfterFunc(timeout, cancel).Stop()
	if err := m.await(node.AddNonvoter(id.serverID(), raft.ServerAddress(address), 0, timeout)); err != nil {
		return err
	}
	if err := m.catchUp(ctx, node, id.serverID()); err != nil {
		// It stays an observer, as it was.
		return errors.Join(err, m.await(node.RemoveServer(id.serverID(), 0, timeout)))
	}
	return m.await(node.AddVoter(id.serverID(), raft.ServerAddress(address), 0, timeout))
}

// catchUp waits until a non-voter has nearly all entries.
func (m *members) catchUp(ctx context.Context, node *raftNode, id raft.ServerID) error {
	for {
		if k := node.peers.contact(id); !k.at.IsZero() && k.lastIndex+catchUpLag >= node.CommitIndex() && k.lastIndex > 0 {
			return nil
		}
		if _, active := m.c.active.get(); !active {
			return kerror.Wrap(kerr.NotController, ErrNotTaken)
		}
		if m.c.pause(ctx, m.c.timeouts.retry) != nil {
			return kerror.New(kerr.RequestTimedOut, "Request timed out waiting for voter to catch up.")
		}
	}
}

// tidy takes non-voters out that a former active controller was about to make voters: nobody waits for them
// any more. Whoever wanted them asks again.
func (m *members) tidy() {
	node := m.c.raft.Load()
	if node == nil || !m.changing.TryLock() {
		return
	}
	defer m.changing.Unlock()
	for _, s := range node.servers() {
		if s.Suffrage == raft.Nonvoter {
			if err := m.await(node.RemoveServer(s.ID, 0, defaultChangeTimeout)); err != nil {
				return
			}
		}
	}
}

func (m *members) remove(_ context.Context, r *kmsg.RemoveRaftVoterRequest) error {
	if err := m.checkCluster(r.ClusterID); err != nil {
		return err
	}
	id := identity{node: r.VoterID, directory: r.VoterDirectoryID}
	if id.node < 0 || id.directory == (image.ID{}) {
		return kerror.New(kerr.InvalidRequest, "Remove voter request didn't include a valid voter")
	}
	if !m.changing.TryLock() {
		return errBusy
	}
	defer m.changing.Unlock()
	node := m.c.raft.Load()
	if !node.votes(id.serverID()) {
		return kerror.New(kerr.VoterNotFound, "Cannot remove voter %s from the set of voters %s", id.text(), node.voterNames())
	}
	if soleVoter(node.servers(), id.serverID()) {
		return kerror.New(kerr.InvalidRequest, "Cannot remove voter %s from the set of voters %s", id.text(), node.voterNames())
	}
	return m.await(node.RemoveServer(id.serverID(), 0, defaultChangeTimeout))
}

// update notes that a voter is reached elsewhere.
func (m *members) update(r *kmsg.UpdateRaftVoterRequest, term uint64) error {
	if err := m.checkCluster(r.ClusterID); err != nil {
		return err
	}
	if r.CurrentLeaderEpoch != int32(term) {
		return kerror.New(kerr.FencedLeaderEpoch, "")
	}
	if !m.changing.TryLock() {
		return errBusy
	}
	defer m.changing.Unlock()
	node, id := m.c.raft.Load(), identity{node: r.VoterID, directory: r.VoterDirectoryID}
	if !node.votes(id.serverID()) {
		return kerror.New(kerr.VoterNotFound, "")
	}
	for _, l := range r.Listeners {
		if l.Name == m.c.cfg.Endpoint.Name {
			return m.await(node.AddVoter(id.serverID(), raft.ServerAddress(hostPort(l.Host, int32(l.Port))), 0, defaultChangeTimeout))
		}
	}
	return kerror.New(kerr.InvalidRequest, "")
}

// await waits for a change of raft's configuration.
func (m *members) await(f raft.IndexFuture) error {
	switch err := f.Error(); {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader):
		return kerror.Wrap(kerr.NotController, errors.Join(err, ErrNotTaken))
	case errors.Is(err, raft.ErrLeadershipLost), errors.Is(err, raft.ErrRaftShutdown):
		return kerror.Wrap(kerr.NotController, err)
	default:
		return kerror.Wrap(kerr.RequestTimedOut, err)
	}
}
