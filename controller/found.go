package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// A new quorum is founded by one of its controllers: the one with the lowest id of
// controller.quorum.voters, or the first of controller.quorum.bootstrap.servers, or the only one there
// is. It writes the first configuration, which names all the others with the directories that they have; the
// others get it by replication.
//
// The founder may be a voter whose disk was replaced, of a quorum that exists. So it asks all the others
// first, and founds nothing unless each of them says that it has nothing either. If only a majority
// answered, the one that didn't could be the other half of the majority that the old disk was part of.

// role in founding.
type founding int8

const (
	// foundingAlone: nobody else is configured.
	foundingAlone founding = iota
	// foundingLeads: this node founds the quorum once the others are there.
	foundingLeads
	// foundingWaits: another node does, or the quorum exists.
	foundingWaits
)

// founding tells which part is this node's, if its disk is empty.
func (cfg *Config) founding() founding {
	switch {
	case cfg.Network == nil || len(cfg.Voters) == 0 && len(cfg.others()) == 0:
		return foundingAlone
	case len(cfg.Voters) > 0:
		lowest := cfg.Voters[0].ID
		for _, v := range cfg.Voters {
			lowest = min(lowest, v.ID)
		}
		if lowest != cfg.NodeID {
			return foundingWaits
		}
		if len(cfg.Voters) == 1 {
			return foundingAlone
		}
		return foundingLeads
	case cfg.Bootstrap[0].String() == cfg.address():
		return foundingLeads
	}
	return foundingWaits
}

// maxFoundRetry is the longest pause between two rounds of asking.
const maxFoundRetry = time.Second

// gather asks the other controllers until all have answered. It returns the first voters, or none if a
// quorum exists that this node must join.
func (c *Controller) gather(ctx context.Context) ([]raft.Server, error) {
	pause, told := c.timeouts.retry, false
	for {
		servers, missing, err := c.gatherOnce(ctx)
		if err != nil || missing == nil {
			return servers, err
		}
		if pause >= maxFoundRetry && !told {
			told = true
			c.logger.Info("waiting for all controllers, to found a new metadata quorum", "missing", missing)
		}
		if err := c.pause(ctx, pause); err != nil {
			return nil, err
		}
		pause = min(2*pause, maxFoundRetry)
	}
}

// gatherOnce is one round; missing are the addresses without an answer.
func (c *Controller) gatherOnce(ctx context.Context) (servers []raft.Server, missing []string, err error) {
	others := c.cfg.others()
	answers := make([]welcome, len(others))
	errs := make([]error, len(others))
	var wg sync.WaitGroup
	for i, address := range others {
		wg.Go(func() { answers[i], errs[i] = c.probe(ctx, address) })
	}
	wg.Wait()
	servers = []raft.Server{{ID: c.self.serverID(), Address: raft.ServerAddress(c.cfg.address())}}
	for i, w := range answers {
		if errs[i] != nil {
			missing = append(missing, others[i])
			continue
		}
		if !w.Fresh {
			c.logger.Info("a metadata quorum exists, joining it", "told_by", others[i])
			return nil, nil, nil
		}
		if err := c.adoptClusterID(others[i], w); err != nil {
			return nil, nil, err
		}
		if w.Server != string(c.self.serverID()) { // An address of this node's own, under another name.
			servers = append(servers, raft.Server{ID: raft.ServerID(w.Server), Address: raft.ServerAddress(others[i])})
		}
	}
	if missing != nil {
		return nil, missing, nil
	}
	return servers, nil, checkFounders(servers)
}

func checkFounders(servers []raft.Server) error {
	seen := map[int32]raft.Server{}
	for _, s := range servers {
		i, ok := parseIdentity(s.ID)
		if !ok {
			return fmt.Errorf("the controller at %s has the malformed identity %q", s.Address, s.ID)
		}
		if other, ok := seen[i.node]; ok {
			return fmt.Errorf("the controllers at %s and %s both have node.id %d", other.Address, s.Address, i.node)
		}
		seen[i.node] = s
	}
	return nil
}

// adoptClusterID takes the id that another new controller's log directories carry already. Called before
// anything else runs.
func (c *Controller) adoptClusterID(address string, w welcome) error {
	switch {
	case w.ClusterID == "" || w.ClusterID == c.cfg.ClusterID:
	case c.cfg.ClusterID == "":
		c.foundedID = w.ClusterID
	default:
		return &ClusterError{Ours: c.cfg.ClusterID, Theirs: w.ClusterID, Address: address}
	}
	return nil
}

// probe asks a controller who it is.
func (c *Controller) probe(ctx context.Context, address string) (welcome, error) {
	st, w, err := c.dial(ctx, address, streamProbe, hello{})
	if err != nil {
		return w, err
	}
	return w, st.Close()
}

// pause waits for d; its error is that of ctx or of the controller, whichever ends first.
func (c *Controller) pause(ctx context.Context, d time.Duration) error {
	passed := make(chan struct{})
	timer := c.cfg.Clock.AfterFunc(d, func() { close(passed) })
	defer timer.Stop()
	select {
	case <-passed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.dead:
		return c.err
	}
}
