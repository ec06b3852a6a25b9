package controller

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"
	"github.com/ottla/ottla/controller/image"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// joinTimeout bounds one request of a controller about itself.
const joinTimeout = 20 * time.Second

// join registers this controller, once it has the image, and makes it a voter where it is to be one: where
// controller.quorum.voters names it, or controller.quorum.auto.join.enable says so. Its former self, a voter with this
// node id and another directory, is removed before: the disk that cast its votes is gone.
func (m *members) join() {
	c := m.c
	select {
	case <-c.ready:
	case <-c.dead:
		return
	}
	_, static := c.cfg.staticVoter(c.cfg.NodeID)
	wanted := static || c.cfg.Settings.Bool("controller.quorum.auto.join.enable")
	registered, joined := len(c.cfg.endpoints()) == 0, false
	for pause := c.timeouts.retry; ; pause = min(2*pause, 10*c.timeouts.contact) {
		if !registered {
			registered = m.try("register this controller", m.register)
		}
		if !joined {
			joined = m.try("join the metadata quorum", func(ctx context.Context) error { return m.joinOnce(ctx, wanted) })
		}
		if registered && joined || c.pause(c.ctx, pause) != nil {
			return
		}
	}
}

func (m *members) try(what string, f func(context.Context) error) bool {
	ctx, cancel := context.WithCancel(m.c.ctx)
	defer cancel()
	defer m.c.cfg.Clock.AfterFunc(joinTimeout, cancel).Stop()
	err := f(ctx)
	if err != nil {
		m.c.logger.Debug("can't "+what+" yet", "error", err)
	}
	return err == nil
}

// register tells the cluster where this controller is reached.
func (m *members) register(ctx context.Context) error {
	c := m.c
	req := kmsg.NewPtrControllerRegistrationRequest()
	req.Version = req.MaxVersion()
	req.ControllerID, req.IncarnationID = c.cfg.NodeID, c.incarnation
	for _, e := range c.cfg.endpoints() {
		l := kmsg.NewControllerRegistrationRequestListener()
		l.Name, l.Host, l.Port, l.SecurityProtocol = e.Name, e.Host, e.Port, e.SecurityProtocol
		req.Listeners = append(req.Listeners, l)
	}
	for _, f := range bootstrapFeatures {
		r := kmsg.NewControllerRegistrationRequestFeature()
		r.Name, r.MinSupportedVersion, r.MaxSupportedVersion = f.Name, 0, f.Level
		if f.Name == image.MetadataVersion {
			r.MinSupportedVersion = minMetadataVersion
		}
		req.Features = append(req.Features, r)
	}
	resp, err := c.Handle(ctx, req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.ControllerRegistrationResponse).ErrorCode)
}

// minMetadataVersion is the lowest level of metadata.version that Kafka 4.4.0 runs with.
const minMetadataVersion = 7

// joinOnce looks whether this node votes, and changes that if it is wanted and doesn't.
func (m *members) joinOnce(ctx context.Context, wanted bool) error {
	c := m.c
	epoch, voters, err := m.voters(ctx)
	if err != nil {
		return err
	}
	for _, v := range voters {
		switch {
		case v.ReplicaID != c.cfg.NodeID:
		case v.ReplicaDirectoryID == c.cfg.DirectoryID:
			return m.moved(ctx, epoch)
		case wanted:
			if err := m.checkDead(ctx, v); err != nil {
				return err
			}
			c.logger.Warn("this controller's directory is new; its former one is removed from the metadata quorum",
				"former", identity{node: v.ReplicaID, directory: v.ReplicaDirectoryID}.serverID())
			if err := m.leave(ctx, v.ReplicaDirectoryID); err != nil {
				return err
			}
		}
	}
	if !wanted {
		return nil
	}
	req := kmsg.NewPtrAddRaftVoterRequest()
	req.Version = req.MaxVersion()
	id := c.Image().ClusterID()
	req.ClusterID, req.VoterID, req.VoterDirectoryID = &id, c.cfg.NodeID, c.cfg.DirectoryID
	req.TimeoutMillis = int32(defaultChangeTimeout / time.Millisecond)
	for _, e := range c.cfg.endpoints() {
		req.Listeners = append(req.Listeners, kmsg.AddRaftVoterRequestListener{Name: e.Name, Host: e.Host, Port: e.Port})
	}
	resp, err := c.Handle(ctx, req)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(resp.(*kmsg.AddRaftVoterResponse).ErrorCode); err != nil {
		return err
	}
	c.logger.Info("this controller is a voter of the metadata quorum now")
	return nil
}

// checkDead refuses to take the place of a voter that is alive: two nodes were given one node.id.
func (m *members) checkDead(ctx context.Context, v kmsg.DescribeQuorumResponseTopicPartitionReplicaState) error {
	if err := m.c.pause(ctx, m.c.timeouts.silence()); err != nil {
		return err
	}
	_, again, err := m.voters(ctx)
	if err != nil {
		return err
	}
	for _, now := range again {
		if now.ReplicaID == v.ReplicaID && now.ReplicaDirectoryID == v.ReplicaDirectoryID && now.LastFetchTimestamp > v.LastFetchTimestamp {
			m.c.logger.Error("another controller with this node.id is alive", "node_id", v.ReplicaID)
			return errors.New("another controller with this node.id is alive")
		}
	}
	return nil
}

func (m *members) leave(ctx context.Context, directory image.ID) error {
	req := kmsg.NewPtrRemoveRaftVoterRequest()
	id := m.c.Image().ClusterID()
	req.ClusterID, req.VoterID, req.VoterDirectoryID = &id, m.c.cfg.NodeID, directory
	resp, err := m.c.Handle(ctx, req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.RemoveRaftVoterResponse).ErrorCode)
}

// moved tells the quorum if this voter is reached elsewhere than it knows.
func (m *members) moved(ctx context.Context, epoch int32) error {
	c := m.c
	node := c.raft.Load()
	for _, s := range node.servers() {
		if s.ID != c.self.serverID() || s.Address == raft.ServerAddress(c.cfg.address()) || len(c.cfg.Voters) > 0 {
			continue
		}
		req := kmsg.NewPtrUpdateRaftVoterRequest()
		id := c.Image().ClusterID()
		req.ClusterID, req.CurrentLeaderEpoch, req.VoterID, req.VoterDirectoryID = &id, epoch, c.cfg.NodeID, c.cfg.DirectoryID
		for _, e := range c.cfg.endpoints() {
			req.Listeners = append(req.Listeners, kmsg.UpdateRaftVoterRequestListener{Name: e.Name, Host: e.Host, Port: e.Port})
		}
		resp, err := c.Handle(ctx, req)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.(*kmsg.UpdateRaftVoterResponse).ErrorCode)
	}
	return nil
}

// voters asks the active controller who votes.
func (m *members) voters(ctx context.Context) (epoch int32, list []kmsg.DescribeQuorumResponseTopicPartitionReplicaState, err error) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Version = req.MaxVersion()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = "__cluster_metadata"
	t.Partitions = append(t.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, t)
	resp, err := m.c.Handle(ctx, req)
	if err != nil {
		return 0, nil, err
	}
	r := resp.(*kmsg.DescribeQuorumResponse)
	if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
		return 0, nil, err
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return 0, nil, errors.New("malformed description of the metadata quorum")
	}
	p := &r.Topics[0].Partitions[0]
	return p.LeaderEpoch, p.CurrentVoters, kerr.ErrorForCode(p.ErrorCode)
}
