package replica

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestProduceFlushes tells which plans may have to wait for the disk.
func TestProduceFlushes(t *testing.T) {
	r := newRig(t)
	r.create("cached", 1, self)
	r.create("flushed", 1, self)
	r.set("flushed", "flush.messages", "1")
	for want, topics := range map[bool][]string{false: {"cached", "missing"}, true: {"cached", "flushed"}} {
		plan := ProducePlan{Acks: 1}
		for _, topic := range topics {
			plan.Partitions = append(plan.Partitions, ProducePartition{Topic: topic, Records: records(t, "v")})
			r.m.Find(&plan.Partitions[len(plan.Partitions)-1], idOf(topic, 1))
		}
		if got := r.m.ProduceFlushes(&plan); got != want {
			t.Errorf("%v: %t", topics, got)
		}
		r.m.Produce(&plan)
		for i, topic := range topics {
			if got, fails := plan.Partitions[i].Err, topic == "missing"; (got != nil) != fails {
				t.Errorf("produce to %s afterwards: %v", topic, got)
			}
		}
	}
}

// TestProduceToRecreatedTopic has the cluster's metadata tell of a topic that was deleted and made again, of which this broker still has
// the old one's log: what is appended to that would be lost.
func TestProduceToRecreatedTopic(t *testing.T) {
	r := newRig(t)
	r.create("t", 1, self)
	for _, c := range []struct {
		generation byte
		want       error
		end        int64
	}{{2, kerr.NotLeaderForPartition, 0}, {1, nil, 1}} {
		plan := ProducePlan{Acks: 1, Partitions: []ProducePartition{{Topic: "t", Records: records(t, "v")}}}
		pp := &plan.Partitions[0]
		r.m.Find(pp, idOf("t", c.generation))
		r.m.Produce(&plan)
		if !errors.Is(pp.Err, c.want) {
			t.Errorf("generation %d: %v, want %v", c.generation, pp.Err, c.want)
		}
		if end := r.partition("t").log().LogEndOffset(); end != c.end {
			t.Errorf("generation %d: the log ends at %d, want %d", c.generation, end, c.end)
		}
	}
}
