package server

import (
	"context"
	"errors"
	"time"

	"github.com/ottla/ottla/coordinator/service"
	"github.com/ottla/ottla/coordinator/shard"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// openCoordinatorLog gives a coordinator the partition that it lives in.
func (s *Server) openCoordinatorLog(partition, leaderEpoch int32) (shard.Log, error) {
	p, epoch, err := s.replicas.Led(service.Topic, partition)
	if err != nil {
		return nil, err
	}
	if epoch != leaderEpoch {
		return nil, kerror.New(kerr.NotLeaderForPartition, "leader epoch is %d, not %d", epoch, leaderEpoch)
	}
	return p, nil
}

// createTimeout bounds the creation of an internal topic.
const createTimeout = 30 * time.Second

// createOffsetsTopic makes __consumer_offsets; an existing one is fine.
func (s *Server) createOffsetsTopic(ctx context.Context) error {
	b := s.settings.Broker()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic = service.Topic
	t.NumPartitions = b.Offsets.TopicPartitions
	t.ReplicationFactor = s.clampReplicationFactor(service.Topic, b.Offsets.TopicReplicationFactor)
	for _, setting := range b.OffsetsTopicSettings() {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = setting.Name, &setting.Value
		t.Configs = append(t.Configs, c)
	}
	return s.createTopic(ctx, t)
}

// clampReplicationFactor keeps an internal topic's replication factor within the live brokers.
func (s *Server) clampReplicationFactor(topic string, want int16) int16 {
	live := s.controller.Image().LiveBrokers()
	factor := config.ClampReplicas(want, live)
	if factor != want {
		s.logger.Info("internal topic gets fewer replicas than configured", "topic", topic, "configured", want, "live_brokers", live)
	}
	return factor
}

func (s *Server) createTopic(ctx context.Context, t kmsg.CreateTopicsRequestTopic) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = req.MaxVersion()
	req.TimeoutMillis = int32(createTimeout / time.Millisecond)
	req.Topics = append(req.Topics, t)
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	resp, err := s.controller.Handle(ctx, req)
	if err != nil {
		return err
	}
	for _, r := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return err
		}
	}
	return nil
}
