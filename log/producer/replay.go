package producer

import (
	"cmp"
	"slices"

	"github.com/ottla/ottla/log/batch"
)

// CompletedTxn is a transaction that a marker ended.
type CompletedTxn struct {
	ProducerID  int64
	FirstOffset int64
	LastOffset  int64 // the marker's
	Aborted     bool
	// LastStableOffset is the one after the transaction; with Aborted these fields are the entry
	// of the .txnindex file.
	LastStableOffset int64
}

// Replay takes b, whose offsets are final, into the state. If it holds a marker that ends a
// transaction the second result is true. Batches in the log are taken as they are, whatever
// Check would say of them; INVALID_RECORD if a control batch can't be read.
// Requires: magic 2.
func (s *State) Replay(b *batch.Batch) (CompletedTxn, bool, error) {
	defer s.SetMapEndOffset(b.NextOffset())
	if !b.HasProducerID() {
		return CompletedTxn{}, false, nil
	}
	if b.Attributes.IsControl() {
		return s.replayMarker(b)
	}
	e := s.lookup(b.ProducerID)
	e.setEpoch(b.ProducerEpoch)
	e.addBatch(Metadata(&b.Header))
	if b.Attributes.IsTransactional() {
		if e.txnFirstOffset == noOffset {
			e.txnFirstOffset = b.BaseOffset
			s.openTransaction(openTxn{firstOffset: b.BaseOffset, producerID: b.ProducerID})
		}
		delete(s.verifications, b.ProducerID)
	}
	s.store(b.ProducerID, e)
	return CompletedTxn{}, false, nil
}

// replayMarker takes in a control batch.
func (s *State) replayMarker(b *batch.Batch) (CompletedTxn, bool, error) {
	m, timestamp, ok, err := b.EndTxnMarker()
	if err != nil || !ok {
		return CompletedTxn{}, false, err
	}
	e := s.lookup(b.ProducerID)
	firstOffset := e.txnFirstOffset
	e.setEpoch(b.ProducerEpoch)
	e.coordinatorEpoch, e.lastTimestamp, e.txnFirstOffset = m.CoordinatorEpoch, timestamp, noOffset
	s.store(b.ProducerID, e)
	s.endVerification(b)
	if firstOffset == noOffset {
		return CompletedTxn{}, false, nil
	}
	completed := CompletedTxn{
		ProducerID: b.ProducerID, FirstOffset: firstOffset, LastOffset: b.BaseOffset, Aborted: !m.Commit,
		LastStableOffset: b.BaseOffset + 1,
	}
	s.closeTransaction(firstOffset, b.BaseOffset)
	if len(s.ongoing) > 0 {
		completed.LastStableOffset = s.ongoing[0].firstOffset
	}
	return completed, true, nil
}

// openTransaction inserts t into ongoing; nearly always at the end.
func (s *State) openTransaction(t openTxn) {
	i, _ := slices.BinarySearchFunc(s.ongoing, t.firstOffset, func(t openTxn, offset int64) int {
		return cmp.Compare(t.firstOffset, offset)
	})
	s.ongoing = slices.Insert(s.ongoing, i, t)
}

// closeTransaction moves a transaction from ongoing to unreplicated.
func (s *State) closeTransaction(firstOffset, lastOffset int64) {
	i, ok := slices.BinarySearchFunc(s.ongoing, firstOffset, func(t openTxn, offset int64) int {
		return cmp.Compare(t.firstOffset, offset)
	})
	if !ok {
		panic("producer: an entry's transaction is not among the ongoing ones")
	}
	s.ongoing = slices.Delete(s.ongoing, i, i+1)
	i, _ = slices.BinarySearchFunc(s.unreplicated, firstOffset, func(t endedTxn, offset int64) int {
		return cmp.Compare(t.firstOffset, offset)
	})
	s.unreplicated = slices.Insert(s.unreplicated, i, endedTxn{firstOffset: firstOffset, lastOffset: lastOffset})
}
