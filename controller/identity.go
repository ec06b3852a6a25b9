package controller

import (
	"strconv"
	"strings"

	"github.com/hashicorp/raft"
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/uuid"
)

// identity is a replica of the metadata log: a node on a certain disk. Raft counts votes by it, so that
// a node that lost its disk, and with it the votes it gave and the entries it acknowledged, is another
// server, which isn't a voter until it is made one (KIP-853's replica key).
type identity struct {
	node int32
	// directory is zero for a quorum of one that was founded without it.
	directory image.ID
}

// serverID is how raft's configuration names the replica: the node's id, or id@directory.
func (i identity) serverID() raft.ServerID {
	s := strconv.Itoa(int(i.node))
	if i.directory != (image.ID{}) {
		s += "@" + uuid.Format(i.directory)
	}
	return raft.ServerID(s)
}

// parseIdentity reads what serverID wrote; false for anything else.
func parseIdentity(s raft.ServerID) (identity, bool) {
	id, dir, hasDir := strings.Cut(string(s), "@")
	n, err := strconv.ParseInt(id, 10, 32)
	if err != nil {
		return identity{node: -1}, false
	}
	i := identity{node: int32(n)}
	if hasDir {
		if i.directory, err = uuid.Parse(dir); err != nil {
			return identity{node: -1}, false
		}
	}
	return i, true
}

// text names the replica as Kafka's messages do.
func (i identity) text() string {
	dir := "<undefined>"
	if i.directory != (image.ID{}) {
		dir = uuid.Format(i.directory)
	}
	return "ReplicaKey(id=" + strconv.Itoa(int(i.node)) + ", directoryId=" + dir + ")"
}
