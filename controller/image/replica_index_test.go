package image

import (
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/record/metadata"
)

// replicasOf lists what ReplicasOn yields as topic number * 1000 + index.
func replicasOf(m *Image, broker int32) (out []int) {
	for ref := range m.ReplicasOn(broker) {
		if ref.Topic.Partition(ref.Index) != ref.Partition {
			return nil
		}
		out = append(out, int(ref.Topic.ID[15])*1000+int(ref.Index))
	}
	return out
}

// TestReplicasOn follows a broker's partitions through creation, reassignment and deletion; large topics
// share what doesn't change, so that their pieces are crossed.
func TestReplicasOn(t *testing.T) {
	records := []metadata.Record{&metadata.TopicRecord{Name: "a", TopicID: topicID(1)}, &metadata.TopicRecord{Name: "b", TopicID: topicID(2)}}
	for i := range 300 {
		records = append(records, partition(1, i, int32(1+i%100), 200))
	}
	records = append(records, partition(2, 0, 1, 3))
	m, _ := mustApply(t, Empty(), records...)
	for broker, want := range map[int32][]int{1: {1000, 1100, 1200, 2000}, 3: {1002, 1102, 1202, 2000}, 77: {1076, 1176, 1276}, 201: nil} {
		if got := replicasOf(m, broker); !slices.Equal(got, want) {
			t.Errorf("broker %d has %v, want %v", broker, got, want)
		}
	}
	move := &metadata.PartitionChangeRecord{}
	move.Reset()
	move.TopicID, move.PartitionID, move.Replicas, move.ISR, move.Leader = topicID(1), 200, []int32{77, 200}, []int32{200}, 200
	moved, _ := mustApply(t, m, move)
	if got, want := replicasOf(moved, 77), []int{1076, 1176, 1200, 1276}; !slices.Equal(got, want) {
		t.Errorf("after the move broker 77 has %v, want %v", got, want)
	}
	if got, want := replicasOf(moved, 1), []int{1000, 1100, 2000}; !slices.Equal(got, want) {
		t.Errorf("after the move broker 1 has %v, want %v", got, want)
	}
	if got := replicasOf(m, 1); len(got) != 4 {
		t.Errorf("the old image changed: %v", got)
	}
	gone, _ := mustApply(t, moved, &metadata.RemoveTopicRecord{TopicID: topicID(1)})
	if got := replicasOf(gone, 1); !slices.Equal(got, []int{2000}) || replicasOf(gone, 77) != nil {
		t.Errorf("after the deletion broker 1 has %v, 77 %v", got, replicasOf(gone, 77))
	}
	for _, image := range []*Image{m, moved, gone} {
		if err := image.Check(); err != nil {
			t.Error(err)
		}
	}
}
