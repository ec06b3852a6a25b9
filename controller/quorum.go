package controller

import "github.com/ottla/ottla/controller/decide"

// quorum is what the active controller knows of the quorum in its term.
func (c *Controller) quorum(term uint64) decide.Quorum {
	return decide.Quorum{
		LeaderID: c.cfg.NodeID, LeaderEpoch: int32(term), HighWatermark: c.Image().Offset() + 1,
		DirectoryID: c.cfg.DirectoryID, Endpoint: c.cfg.Endpoint,
	}
}
