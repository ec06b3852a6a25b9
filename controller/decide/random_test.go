package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// TestRandomRequests sends random requests, sensible and not: every decision can be applied, keeps
// the image's invariants, is the same when it is made again, and means the same after its records
// went through their encoding. A request that failed in every part changes nothing.
func TestRandomRequests(t *testing.T) {
	settings, _, err := config.Load(config.ZeroConfig())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		rng := rand.New(rand.NewPCG(seed, 1))
		live, _, err := image.Empty().Apply(1, []metadata.Record{
			&metadata.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: 33}, &metadata.FeatureLevelRecord{Name: elrFeature, FeatureLevel: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		replayed := live
		for i := range rapid.IntRange(1, 50).Draw(t, "requests") {
			req := randomRequest(rng, live)
			decide := func() Decision {
				env := &Env{Image: live, NodeID: 1, Now: time.Unix(int64(i), 0), Rand: rand.New(rand.NewPCG(seed, uint64(i))), Settings: settings}
				d, err := Decide(env, req)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			d := decide()
			if again := decide(); !slices.Equal(encoded(again.Records), encoded(d.Records)) {
				t.Fatalf("%T: decided differently the second time", req)
			}
			next, _, err := live.Apply(1, d.Records)
			if err != nil {
				t.Fatalf("%T%+v: %v", req, req, err)
			}
			if err := checkLeaders(next); err != nil {
				t.Fatalf("after %T%+v: %v", req, req, err)
			}
			var records []metadata.Record
			for _, r := range d.Records {
				back, _, err := metadata.Read(metadata.Append(nil, r, r.MaxVersion()))
				if err != nil {
					t.Fatal(err)
				}
				records = append(records, back)
			}
			if replayed, _, err = replayed.Apply(1, records); err != nil {
				t.Fatal(err)
			}
			live = next
			if !slices.Equal(encoded(slices.Collect(live.Records())), encoded(slices.Collect(replayed.Records()))) {
				t.Fatalf("images differ after %T%+v", req, req)
			}
		}
	})
}

// checkLeaders adds to the image's own invariants that leaders are active brokers.
func checkLeaders(m *image.Image) error {
	if err := m.Check(); err != nil {
		return err
	}
	for t := range m.Topics() {
		if t.NumPartitions() == 0 {
			return fmt.Errorf("topic %s has no partitions", t.Name)
		}
		for i, p := range t.Partitions() {
			if p.Leader != image.NoLeader && (!isActive(m.Broker(p.Leader)) || !m.ReplicaOnline(p, p.Leader)) {
				return fmt.Errorf("%s-%d is led by broker %d, which isn't active", t.Name, i, p.Leader)
			}
		}
	}
	return nil
}

func encoded(records []metadata.Record) (out []string) {
	for _, r := range records {
		out = append(out, fmt.Sprintf("%x", metadata.Append(nil, r, r.MaxVersion())))
	}
	return out
}

func randomRequest(rng *rand.Rand, m *image.Image) kmsg.Request {
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	topic := func() string { return pick("a", "a.b", "a_b", "c", "d", "bad name") }
	broker := func() int32 { return int32(1 + rng.IntN(4)) }
	value := func(s string) *string {
		if rng.IntN(8) == 0 {
			return nil
		}
		return &s
	}
	epoch := func(id int32) int64 {
		if b := m.Broker(id); b != nil && rng.IntN(8) > 0 {
			return b.Epoch
		}
		return int64(rng.IntN(20))
	}
	switch rng.IntN(11) {
	case 0, 1:
		req := kmsg.NewPtrCreateTopicsRequest()
		req.ValidateOnly = rng.IntN(6) == 0
		for range 1 + rng.IntN(3) {
			t := kmsg.NewCreateTopicsRequestTopic()
			t.Topic, t.NumPartitions, t.ReplicationFactor = topic(), int32(rng.IntN(6)-1), int16(rng.IntN(4)-1)
			if rng.IntN(3) == 0 {
				t.NumPartitions, t.ReplicationFactor = -1, -1
				a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
				a.Partition, a.Replicas = int32(rng.IntN(8)/7), []int32{broker(), broker()}
				t.ReplicaAssignment = append(t.ReplicaAssignment, a)
			}
			if rng.IntN(2) == 0 {
				c := kmsg.NewCreateTopicsRequestTopicConfig()
				c.Name, c.Value = pick("retention.ms", "cleanup.policy", "x"), value(pick("1", "compact"))
				t.Configs = append(t.Configs, c)
			}
			req.Topics = append(req.Topics, t)
		}
		return req
	case 2:
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version = 6
		for range 1 + rng.IntN(3) {
			t := kmsg.NewDeleteTopicsRequestTopic()
			if rng.IntN(2) == 0 {
				t.Topic = value(topic())
			} else if known := m.Topic(topic()); known != nil {
				t.TopicID = known.ID
			}
			req.Topics = append(req.Topics, t)
		}
		return req
	case 3:
		req := kmsg.NewPtrCreatePartitionsRequest()
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = topic(), int32(rng.IntN(8))
		req.Topics = append(req.Topics, t)
		return req
	case 4, 5:
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		for range 1 + rng.IntN(2) {
			r := kmsg.NewIncrementalAlterConfigsRequestResource()
			r.ResourceType = kmsg.ConfigResourceType([]int8{2, 2, 4, 16, 32, 7}[rng.IntN(6)])
			r.ResourceName = pick(topic(), "1", "")
			for range rng.IntN(3) {
				c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
				c.Op, c.Name, c.Value = kmsg.IncrementalAlterConfigOp(rng.IntN(5)), pick("retention.ms", "cleanup.policy", "log.cleaner.threads", "x"), value(pick("1", "compact"))
				r.Configs = append(r.Configs, c)
			}
			req.Resources = append(req.Resources, r)
		}
		return req
	case 6:
		req := kmsg.NewPtrBrokerRegistrationRequest()
		req.BrokerID, req.ClusterID, req.IncarnationID = broker(), m.ClusterID(), image.ID{byte(rng.IntN(6))}
		req.Version, req.LogDirs, req.Features = 4, [][16]byte{{byte(req.BrokerID), byte(1 + rng.IntN(2))}}, kafkaFeatures()
		req.PreviousBrokerEpoch = epoch(req.BrokerID)
		return req
	case 7, 8:
		req := kmsg.NewPtrBrokerHeartbeatRequest()
		req.BrokerID = broker()
		req.BrokerEpoch, req.CurrentMetadataOffset = epoch(req.BrokerID), m.Offset()-int64(rng.IntN(3))
		req.WantFence, req.WantShutdown = rng.IntN(5) == 0, rng.IntN(9) == 0
		if rng.IntN(4) == 0 {
			req.OfflineLogDirs = [][16]byte{{byte(req.BrokerID), 1}}
			req.CordonedLogDirs = [][16]byte{{byte(req.BrokerID), byte(rng.IntN(3))}}[:rng.IntN(2)]
		}
		return req
	case 9:
		req := kmsg.NewPtrElectLeadersRequest()
		req.ElectionType = int8(rng.IntN(3))
		if rng.IntN(2) == 0 {
			t := kmsg.NewElectLeadersRequestTopic()
			t.Topic, t.Partitions = topic(), []int32{0, 0, 1}
			req.Topics = append(req.Topics, t)
		}
		return req
	}
	switch rng.IntN(6) {
	case 2, 3:
		req := kmsg.NewPtrAlterPartitionRequest()
		req.Version = int16(2 + rng.IntN(2))
		req.BrokerID = broker()
		req.BrokerEpoch = epoch(req.BrokerID)
		t := kmsg.NewAlterPartitionRequestTopic()
		if known := m.Topic(topic()); known != nil {
			t.TopicID = known.ID
		}
		for range 1 + rng.IntN(2) {
			p := kmsg.NewAlterPartitionRequestTopicPartition()
			p.Partition, p.LeaderEpoch, p.PartitionEpoch = int32(rng.IntN(2)), int32(rng.IntN(3)), int32(rng.IntN(4))
			p.LeaderRecoveryState = int8(rng.IntN(9) / 7)
			p.NewISR = []int32{req.BrokerID, broker()}[:1+rng.IntN(2)]
			for _, id := range p.NewISR {
				p.NewEpochISR = append(p.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: id, BrokerEpoch: epoch(id)})
			}
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
		return req
	case 4:
		req := kmsg.NewPtrUpdateFeaturesRequest()
		req.Version, req.ValidateOnly = int16(rng.IntN(3)), rng.IntN(5) == 0
		u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		u.Feature = pick(image.MetadataVersion, elrFeature, elrFeature, image.KRaftVersion, image.GroupVersion, "x")
		u.MaxVersionLevel, u.UpgradeType = int16(rng.IntN(3)), int8(rng.IntN(4))
		req.FeatureUpdates = append(req.FeatureUpdates, u)
		return req
	case 0:
		req := kmsg.NewPtrUnregisterBrokerRequest()
		req.BrokerID = broker()
		return req
	case 1:
		req := kmsg.NewPtrAllocateProducerIDsRequest()
		req.BrokerID = broker()
		req.BrokerEpoch = epoch(req.BrokerID)
		return req
	}
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	t.Topic = topic()
	p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	if p.Replicas = []int32{broker(), broker()}; rng.IntN(4) == 0 {
		p.Replicas = nil
	}
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}
