package decide

import (
	"errors"
	"slices"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Election types of ElectLeaders.
const (
	electPreferred int8 = 0
	electUnclean   int8 = 1
)

// electLeaders decides as ReplicationControlManager.electLeaders does. A request for all partitions
// names those only whose leader changed or can't be had.
func electLeaders(env *Env, req *kmsg.ElectLeadersRequest) Decision {
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	if req.ElectionType != electPreferred && req.ElectionType != electUnclean {
		err := kerror.New(kerr.InvalidRequest, "Unknown election type %d", req.ElectionType)
		resp.ErrorCode = kerr.InvalidRequest.Code
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				addElection(resp, t.Topic, p, err)
			}
		}
		return Decision{Response: resp}
	}
	var records []metadata.Record
	if req.Topics == nil {
		for t := range env.Image.Topics() {
			resp.Topics = append(resp.Topics, electionTopic(t.Name))
			for i, p := range t.Partitions() {
				change, err := elect(env.Image, t.ID, i, p, req.ElectionType)
				if change != nil {
					records = append(records, change)
				}
				if !errors.Is(err, errElectionNotNeeded) {
					addElection(resp, t.Name, i, err)
				}
			}
		}
		return Decision{Records: records, Response: resp}
	}
	done := map[*image.Partition]bool{}
	for _, rt := range req.Topics {
		resp.Topics = append(resp.Topics, electionTopic(rt.Topic))
		t := env.Image.Topic(rt.Topic)
		for _, i := range rt.Partitions {
			change, err := electNamed(env.Image, t, rt.Topic, i, req.ElectionType, done)
			if change != nil {
				records = append(records, change)
			}
			addElection(resp, rt.Topic, i, err)
		}
	}
	return Decision{Records: records, Response: resp}
}

// errElectionNotNeeded is compared by identity.
var errElectionNotNeeded error = kerror.New(kerr.ElectionNotNeeded, "Leader election not needed for topic partition.")

func electNamed(m *image.Image, t *image.Topic, name string, index int32, kind int8, done map[*image.Partition]bool) (metadata.Record, error) {
	if t == nil {
		return nil, kerror.New(kerr.UnknownTopicOrPartition, "No such topic as %s", name)
	}
	p := t.Partition(index)
	if p == nil {
		return nil, kerror.New(kerr.UnknownTopicOrPartition, "No such partition as %s-%d", name, index)
	}
	if done[p] {
		return nil, errElectionNotNeeded
	}
	done[p] = true
	return elect(m, t.ID, index, p, kind)
}

// elect returns the change that gives a partition the leader asked for.
func elect(m *image.Image, topic image.ID, index int32, p *image.Partition, kind int8) (metadata.Record, error) {
	if kind == electPreferred {
		preferred := p.PreferredLeader()
		if p.Leader == preferred {
			return nil, errElectionNotNeeded
		}
		if !slices.Contains(p.ISR, preferred) || !mayLead(m, p, preferred) {
			return nil, kerror.New(kerr.PreferredLeaderNotAvailable, "The preferred leader was not available.")
		}
		return leaderChange(topic, index, preferred), nil
	}
	if p.Leader != image.NoLeader {
		return nil, errElectionNotNeeded
	}
	if leader := cleanLeader(m, p); leader != image.NoLeader {
		return leaderChange(topic, index, leader), nil
	}
	for _, id := range p.Replicas {
		if mayLead(m, p, id) {
			c := leaderChange(topic, index, id)
			c.ISR, c.LeaderRecoveryState = []int32{id}, image.LeaderRecovering
			c.EligibleLeaderReplicas, c.LastKnownELR = []int32{}, []int32{}
			return c, nil
		}
	}
	return nil, kerror.New(kerr.EligibleLeadersNotAvailable, "Eligible topic partition leaders are not available.")
}

// mayLead tells whether a replica's broker is active and its log directory online.
func mayLead(m *image.Image, p *image.Partition, id int32) bool {
	b := m.Broker(id)
	return b != nil && isActive(b) && m.ReplicaOnline(p, id)
}

// cleanLeader is the first replica that is in sync and whose broker is active; NoLeader if there is
// none.
func cleanLeader(m *image.Image, p *image.Partition) int32 {
	for _, id := range p.Replicas {
		if slices.Contains(p.ISR, id) && mayLead(m, p, id) {
			return id
		}
	}
	return image.NoLeader
}

// partitionChange is a change record that changes nothing yet.
func partitionChange(topic image.ID, index int32) *metadata.PartitionChangeRecord {
	r := &metadata.PartitionChangeRecord{}
	r.Reset()
	r.TopicID, r.PartitionID = topic, index
	return r
}

func leaderChange(topic image.ID, index, leader int32) *metadata.PartitionChangeRecord {
	r := partitionChange(topic, index)
	r.Leader = leader
	return r
}

func electionTopic(name string) kmsg.ElectLeadersResponseTopic {
	t := kmsg.NewElectLeadersResponseTopic()
	t.Topic = name
	return t
}

// addElection adds a partition's outcome to the last topic of the response, or to a new one.
func addElection(resp *kmsg.ElectLeadersResponse, topic string, index int32, err error) {
	if n := len(resp.Topics); n == 0 || resp.Topics[n-1].Topic != topic {
		resp.Topics = append(resp.Topics, electionTopic(topic))
	}
	p := kmsg.NewElectLeadersResponseTopicPartition()
	p.Partition = index
	p.ErrorCode, p.ErrorMessage = codeAndMessage(err)
	last := &resp.Topics[len(resp.Topics)-1]
	last.Partitions = append(last.Partitions, p)
}
