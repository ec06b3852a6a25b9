package producer

import "github.com/ottla/ottla/log/batch"

// Oldest is where a producer's memory begins: what comes before may be in the log.
type Oldest struct {
	// BatchMetadata is the oldest batch that is remembered.
	BatchMetadata
	// Missing is how many more there may be.
	Missing int
}

// Incomplete tells where the memory of b's producer begins, if it came from a snapshot, which has the last batch
// only, and if b may be a batch from before. Recall is due then before anything is made of a refusal.
func (s *State) Incomplete(b *batch.Batch) (Oldest, bool) {
	e, ok := s.producers[b.ProducerID]
	if !ok || !e.partial || e.producerEpoch != b.ProducerEpoch {
		return Oldest{}, false
	}
	return Oldest{e.batches()[0], maxBatches - int(e.numBatches)}, true
}

// Recall adds the batches that the log has of a producer right before those that are remembered, oldest first.
// The memory is complete then, however many there are.
func (s *State) Recall(producerID int64, before []BatchMetadata) {
	e, ok := s.producers[producerID]
	if !ok || !e.partial {
		return
	}
	known, timestamp := e.batches(), e.lastTimestamp
	e.numBatches, e.older, e.partial = 0, nil, false
	for _, m := range before[max(0, len(before)-(maxBatches-len(known))):] {
		e.addBatch(m)
	}
	for _, m := range known {
		e.addBatch(m)
	}
	e.lastTimestamp = timestamp
	s.producers[producerID] = e
}

// Metadata is what is remembered of a data batch in the log.
func Metadata(b *batch.Header) BatchMetadata {
	return BatchMetadata{
		LastSequence: b.LastSequence(), OffsetDelta: b.LastOffsetDelta,
		LastOffset: b.LastOffset(), Timestamp: b.MaxTimestamp,
	}
}
