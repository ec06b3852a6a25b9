package producer

// Last is the end of what a producer wrote, which compaction mustn't take away.
type Last struct {
	// DataOffset is the last offset of its last data batch, -1 if none is remembered.
	DataOffset    int64
	ProducerEpoch int16
}

// LastRecords tells, of each producer remembered, what it wrote last.
// (Kafka: UnifiedLog.lastRecordsOfActiveProducers.)
func (s *State) LastRecords() map[int64]Last {
	out := make(map[int64]Last, len(s.producers))
	for id, e := range s.producers {
		l := Last{DataOffset: -1, ProducerEpoch: e.producerEpoch}
		if e.numBatches > 0 {
			l.DataOffset = e.last.LastOffset
		}
		out[id] = l
	}
	return out
}
