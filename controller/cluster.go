package controller

import "fmt"

// ClusterError tells that a node belongs to another cluster than the controllers that it is configured
// with.
type ClusterError struct {
	// Ours is the id in this node's meta.properties, Theirs the controllers'.
	Ours, Theirs string
	// Address is that of the controller that told; empty if this node's own metadata log did.
	Address string
}

// Error implements error.
func (e *ClusterError) Error() string {
	from := "this node's metadata log"
	if e.Address != "" {
		from = "the controller at " + e.Address
	}
	return fmt.Sprintf("the log directories belong to cluster %s (meta.properties), but %s to cluster %s: "+
		"check controller.quorum.voters, controller.quorum.bootstrap.servers and log.dirs", e.Ours, from, e.Theirs)
}

// knownClusterID is the cluster that this node belongs to; empty for a new node.
func (c *Controller) knownClusterID() string {
	if id := c.Image().ClusterID(); id != "" {
		return id
	}
	return c.cfg.ClusterID
}

// foreignCluster stops a node that starts with the wrong controllers. A node that serves already has the
// right ones; whoever answered is wrong.
func (c *Controller) foreignCluster(address string, w welcome) {
	if w.Refused != refusedCluster {
		return
	}
	err := &ClusterError{Ours: c.knownClusterID(), Theirs: w.ClusterID, Address: address}
	select {
	case <-c.ready:
		c.logger.Warn("a configured controller belongs to another cluster", "error", err)
	default:
		c.fail(err)
	}
}
