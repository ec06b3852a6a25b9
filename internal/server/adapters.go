package server

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ottla/ottla/coordinator/service"
	"github.com/ottla/ottla/coordinator/shard"
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
	for _, c := range [][2]string{
		{"cleanup.policy", "compact"},
		{"compression.type", "producer"},
		{"segment.bytes", strconv.Itoa(int(b.Offsets.TopicSegmentBytes))},
	} {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = c[0], kmsg.StringPtr(c[1])
		t.Configs = append(t.Configs, config)
	}
	return s.createTopic(ctx, t)
}

// clampReplicationFactor keeps an internal topic's replication factor within the live brokers, so
// that a small cluster works with Kafka's defaults.
func (s *Server) clampReplicationFactor(topic string, want int16) int16 {
	live := int16(0)
	for _, b := range s.controller.Image().Brokers() {
		if !b.Fenced {
			live++
		}
	}
	if want <= live || live == 0 {
		return want
	}
	s.logger.Info("internal topic gets fewer replicas than configured", "topic", topic, "configured", want, "live_brokers", live)
	return live
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

// dirFailed ends the node when its last log directory failed; with others left it goes on without it.
func (s *Server) dirFailed(err error) {
	if int(s.failedDirs.Add(1)) == len(s.settings.Broker().LogDirs) {
		s.fail(err)
	}
}
