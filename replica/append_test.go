package replica

import "testing"

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
			if found := r.m.Find(&plan.Partitions[len(plan.Partitions)-1]); found != (topic != "missing") {
				t.Errorf("%s: found %t", topic, found)
			}
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
