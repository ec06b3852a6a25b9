package dump

import (
	"fmt"

	"github.com/ottla/ottla/internal/uuid"
	commitlog "github.com/ottla/ottla/log"
	"github.com/ottla/ottla/log/epoch"
	"github.com/ottla/ottla/log/producer"
)

// maxSmallFileBytes bounds the files that are read whole.
const maxSmallFileBytes = 1 << 30

// smallFiles tells how to print the files that have one name.
var smallFiles = map[string]func(d *dumper, file []byte) error{
	"leader-epoch-checkpoint":          printEpochs,
	"partition.metadata":               printPartitionMetadata,
	"meta.properties":                  printMetaProperties,
	".kafka_cleanshutdown":             printCleanShutdown,
	".lock":                            func(*dumper, []byte) error { return nil }, // Nothing is in it.
	"recovery-point-offset-checkpoint": printOffsets,
	"log-start-offset-checkpoint":      printOffsets,
	"replication-offset-checkpoint":    printOffsets,
	"cleaner-offset-checkpoint":        printOffsets,
}

// small dumps a file that is read whole.
func (d *dumper) small(name string, print func(*dumper, []byte) error) error {
	f, err := d.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.size > maxSmallFileBytes {
		return fmt.Errorf("%d bytes, at most %d are expected", f.size, maxSmallFileBytes)
	}
	content, err := f.at(nil, 0, f.size)
	if err != nil {
		return err
	}
	if err := print(d, content); err != nil {
		d.damage(name, 0, err.Error())
	}
	return nil
}

func printSnapshot(d *dumper, file []byte) error {
	entries, err := producer.ReadSnapshot(file)
	for _, e := range entries {
		d.printf("producerId: %d producerEpoch: %d coordinatorEpoch: %d currentTxnFirstOffset: %s lastTimestamp: %d",
			e.ProducerID, e.ProducerEpoch, e.CoordinatorEpoch,
			optionalLong(e.CurrentTxnFirstOffset, e.CurrentTxnFirstOffset >= 0), e.LastTimestamp)
		if m := e.LastBatch; e.HasBatch {
			d.printf(" firstSequence: %d lastSequence: %d lastOffset: %d offsetDelta: %d timestamp: %d",
				m.FirstSequence(), m.LastSequence, m.LastOffset, m.OffsetDelta, m.Timestamp)
		}
		d.printf("\n")
	}
	return err
}

func printEpochs(d *dumper, file []byte) error {
	entries, err := epoch.ParseCheckpoint(file)
	for _, e := range entries {
		d.printf("leaderEpoch: %d startOffset: %d\n", e.Epoch, e.StartOffset)
	}
	return err
}

func printOffsets(d *dumper, file []byte) error {
	entries, err := commitlog.ParseOffsetCheckpoint(file)
	for _, e := range entries {
		d.printf("topic: %s partition: %d offset: %d\n", javaText([]byte(e.Topic)), e.Partition, e.Offset)
	}
	return err
}

func printPartitionMetadata(d *dumper, file []byte) error {
	id, err := commitlog.ParsePartitionMetadata(file)
	if err == nil {
		d.printf("topicId: %s\n", uuid.Format(id))
	}
	return err
}

func printMetaProperties(d *dumper, file []byte) error {
	p, err := commitlog.ParseMetaProperties(file)
	if err == nil {
		d.printf("clusterId: %s directoryId: %s nodeId: %d\n", p.ClusterID, uuid.Format(p.DirectoryID), p.NodeID)
	}
	return err
}

func printCleanShutdown(d *dumper, file []byte) error {
	d.printf("brokerEpoch: %d\n", commitlog.ParseCleanShutdown(file))
	return nil
}
