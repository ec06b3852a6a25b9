package producer

import "github.com/ottla/ottla/log/batch"

// maxBatches is the number of batches remembered of a producer: as many as a client may have
// in flight and so retry.
const maxBatches = 5

// noOffset stands for "no transaction open".
const noOffset int64 = -1

// BatchMetadata is one remembered batch.
type BatchMetadata struct {
	LastOffset   int64
	Timestamp    int64 // ms, the batch's largest
	LastSequence int32
	OffsetDelta  int32
}

// FirstOffset is the offset of the batch's first record.
func (m BatchMetadata) FirstOffset() int64 { return m.LastOffset - int64(m.OffsetDelta) }

// FirstSequence is the sequence number of the batch's first record.
func (m BatchMetadata) FirstSequence() int32 {
	return batch.DecrementSequence(m.LastSequence, m.OffsetDelta)
}

// entry is one producer. Most producers of a partition are idle and came from a snapshot,
// with one batch: the four before it are kept aside.
type entry struct {
	lastTimestamp    int64 // ms, of the last batch or marker
	txnFirstOffset   int64 // noOffset: no open transaction
	last             BatchMetadata
	older            *[maxBatches - 1]BatchMetadata // oldest first; nil until needed
	coordinatorEpoch int32
	producerEpoch    int16
	numBatches       uint8 // last and older together
	// partial says that batches before those that are remembered may be in the log: a snapshot has
	// only the last one.
	partial bool
}

// newEntry is a producer of which nothing is known.
func newEntry() entry {
	return entry{
		lastTimestamp:    batch.NoTimestamp,
		txnFirstOffset:   noOffset,
		coordinatorEpoch: -1,
		producerEpoch:    batch.NoProducerEpoch,
	}
}

// lastSequence is that of the last batch, or batch.NoSequence.
func (e *entry) lastSequence() int32 {
	if e.numBatches == 0 {
		return batch.NoSequence
	}
	return e.last.LastSequence
}

// setEpoch moves to an epoch; batches of another one are forgotten.
func (e *entry) setEpoch(epoch int16) {
	if e.producerEpoch != epoch {
		e.producerEpoch = epoch
		e.numBatches, e.older, e.partial = 0, nil, false
	}
}

// addBatch remembers a batch, and forgets the oldest of five.
func (e *entry) addBatch(m BatchMetadata) {
	if e.numBatches > 0 {
		if e.older == nil {
			e.older = new([maxBatches - 1]BatchMetadata)
		}
		if e.numBatches == maxBatches {
			copy(e.older[:], e.older[1:])
			e.numBatches--
		}
		e.older[e.numBatches-1] = e.last
	}
	e.last = m
	e.numBatches++
	e.partial = e.partial && e.numBatches < maxBatches
	e.lastTimestamp = m.Timestamp
}

// batches are the remembered ones, oldest first.
func (e *entry) batches() []BatchMetadata {
	if e.numBatches == 0 {
		return nil
	}
	var list []BatchMetadata
	if e.numBatches > 1 {
		list = append(list, e.older[:e.numBatches-1]...)
	}
	return append(list, e.last)
}

// find returns the remembered batch with exactly these sequence numbers.
func (e *entry) find(firstSequence, lastSequence int32) (BatchMetadata, bool) {
	for i := range int(e.numBatches) {
		m := e.last
		if i < int(e.numBatches)-1 {
			m = e.older[i]
		}
		if m.LastSequence == lastSequence && m.FirstSequence() == firstSequence {
			return m, true
		}
	}
	return BatchMetadata{}, false
}
