package image

import (
	"fmt"
	"testing"

	"github.com/ottla/ottla/internal/record/metadata"
)

// benchRecords make topics of so many partitions with three replicas each.
func benchRecords(topics, partitions int) (records []metadata.Record) {
	for t := range topics {
		records = append(records, &metadata.TopicRecord{Name: fmt.Sprintf("topic-%05d", t), TopicID: topicID(t)})
		for p := range partitions {
			records = append(records, partition(t, p, 1, 2, 3))
		}
	}
	return records
}

// BenchmarkApply makes an image of 10,000 partitions, in one topic and in a thousand.
func BenchmarkApply(b *testing.B) {
	for _, shape := range []struct{ topics, partitions int }{{1, 10_000}, {1000, 10}} {
		b.Run(fmt.Sprintf("%dx%d", shape.topics, shape.partitions), func(b *testing.B) {
			records := benchRecords(shape.topics, shape.partitions)
			b.ReportAllocs()
			for b.Loop() {
				next, delta := mustApply(b, Empty(), records...)
				if next.NumPartitions() != 10_000 || len(delta.Topics) != shape.topics {
					b.Fatal(next.NumPartitions(), len(delta.Topics))
				}
			}
		})
	}
}

// BenchmarkApplyChange gives one partition of an image with 10,000 a new leader.
func BenchmarkApplyChange(b *testing.B) {
	for _, shape := range []struct{ topics, partitions int }{{1, 10_000}, {1000, 10}} {
		b.Run(fmt.Sprintf("%dx%d", shape.topics, shape.partitions), func(b *testing.B) {
			m, _ := mustApply(b, Empty(), benchRecords(shape.topics, shape.partitions)...)
			topic := shape.topics / 2
			change := &metadata.PartitionChangeRecord{}
			change.Reset()
			change.TopicID, change.PartitionID, change.Leader = topicID(topic), int32(shape.partitions/2), 2
			records := []metadata.Record{change}
			b.ReportAllocs()
			for b.Loop() {
				next, delta, err := m.Apply(1, records)
				if err != nil || len(delta.Topics) != 1 {
					b.Fatal(delta, err)
				}
				if p := next.TopicByID(topicID(topic)).Partition(change.PartitionID); p.Leader != 2 || p.LeaderEpoch != 1 {
					b.Fatal(p)
				}
			}
		})
	}
}

// BenchmarkRestore makes an image of 10,000 partitions from its own records, as a start from a snapshot does.
func BenchmarkRestore(b *testing.B) {
	m, _ := mustApply(b, Empty(), benchRecords(1000, 10)...)
	b.ReportAllocs()
	for b.Loop() {
		next, err := Restore(m.Offset(), m.Epoch(), func(yield func(metadata.Record, error) bool) {
			for r := range m.Records() {
				if !yield(r, nil) {
					return
				}
			}
		})
		if err != nil || next.NumPartitions() != 10_000 {
			b.Fatal(err)
		}
	}
}
