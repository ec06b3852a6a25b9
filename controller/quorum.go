package controller

import (
	"cmp"
	"net"
	"slices"
	"strconv"

	"github.com/hashicorp/raft"
	"github.com/ottla/ottla/controller/decide"
	"github.com/ottla/ottla/controller/image"
)

// quorum is what the active controller knows of the quorum in its term.
func (c *Controller) quorum(term uint64) decide.Quorum {
	newest := c.Image().Offset()
	q := decide.Quorum{LeaderID: c.cfg.NodeID, LeaderEpoch: int32(term), HighWatermark: newest + 1}
	node, self := c.raft.Load(), c.self.serverID()
	voters := map[identity]bool{}
	for _, s := range node.servers() {
		id, ok := parseIdentity(s.ID)
		if !ok || s.Suffrage != raft.Voter {
			continue
		}
		voters[id] = true
		r := decide.QuorumReplica{ID: id.node, DirectoryID: id.directory, LogEndOffset: -1, Endpoint: c.endpointAt(string(s.Address))}
		if s.ID == self {
			r.LogEndOffset, r.LastFetch, r.LastCaughtUp, r.Endpoint = newest+1, c.now(), c.now(), c.cfg.Endpoint
			if r.DirectoryID == (image.ID{}) {
				r.DirectoryID = c.cfg.DirectoryID
			}
		} else if k := node.peers.contact(s.ID); !k.at.IsZero() {
			r.LogEndOffset, r.LastFetch, r.LastCaughtUp = c.feed.offsetAt(k.lastIndex, newest)+1, k.at, k.caughtUp
		}
		q.Voters = append(q.Voters, r)
	}
	for _, o := range c.observers.snapshot() {
		if !voters[o.id] {
			q.Observers = append(q.Observers, decide.QuorumReplica{
				ID: o.id.node, DirectoryID: o.id.directory, LogEndOffset: o.offset + 1, LastFetch: o.seen, LastCaughtUp: o.caughtUp,
			})
		}
	}
	slices.SortFunc(q.Voters, func(a, b decide.QuorumReplica) int { return cmp.Compare(a.ID, b.ID) })
	return q
}

// endpointAt is a voter's address under the name of this node's controller listener.
func (c *Controller) endpointAt(address string) image.Endpoint {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return image.Endpoint{}
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return image.Endpoint{}
	}
	return image.Endpoint{Name: c.cfg.Endpoint.Name, Host: host, Port: uint16(n), SecurityProtocol: c.cfg.Endpoint.SecurityProtocol}
}
