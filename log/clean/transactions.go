package clean

import (
	"cmp"
	"slices"

	"github.com/ottla/ottla/log/batch"
)

// AbortedTxn is an aborted transaction as the transaction index has it.
type AbortedTxn struct {
	ProducerID                                int64
	FirstOffset, LastOffset, LastStableOffset int64
}

// Transactions follows the transactions of a log that is read in order. (Kafka: CleanedTransactionMetadata.)
type Transactions struct {
	// pending are aborted transactions that the reading hasn't reached, by first offset.
	pending []AbortedTxn
	// aborted are those it is inside of; the value says whether a batch of it was seen.
	aborted map[int64]*openAborted
	// committed are producers with batches of a transaction that isn't aborted.
	committed map[int64]struct{}
}

// openAborted is an aborted transaction between its first batch and its marker.
type openAborted struct {
	AbortedTxn
	batchSeen bool
}

// NewTransactions returns an empty one.
func NewTransactions() *Transactions {
	return &Transactions{aborted: map[int64]*openAborted{}, committed: map[int64]struct{}{}}
}

// Expect adds aborted transactions of what is read next. One that reaches over several segments may come
// again with each.
func (t *Transactions) Expect(txns []AbortedTxn) {
	t.pending = append(t.pending, txns...)
	slices.SortStableFunc(t.pending, func(a, b AbortedTxn) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
}

// reach takes the transactions that begin up to offset.
func (t *Transactions) reach(offset int64) {
	n := 0
	for ; n < len(t.pending) && t.pending[n].FirstOffset <= offset; n++ {
		if p := t.pending[n]; t.aborted[p.ProducerID] == nil {
			t.aborted[p.ProducerID] = &openAborted{AbortedTxn: p}
		}
	}
	t.pending = t.pending[n:]
}

// Batch takes a batch of data and says whether it belongs to an aborted transaction.
func (t *Transactions) Batch(h *batch.Header) bool {
	t.reach(h.LastOffset())
	if !h.Attributes.IsTransactional() {
		return false
	}
	if a := t.aborted[h.ProducerID]; a != nil {
		a.batchSeen = true
		return true
	}
	t.committed[h.ProducerID] = struct{}{}
	return false
}

// marker is what became of a transaction's marker.
type marker struct {
	// spent says that no batch of its transaction is left, so that the marker may go in time.
	spent bool
	// aborted is the transaction if it was aborted and has batches left: then the index keeps it.
	aborted *AbortedTxn
}

// control takes a control batch.
func (t *Transactions) control(b *batch.Batch) (marker, error) {
	t.reach(b.LastOffset())
	if b.NumRecords == 0 {
		return marker{spent: true}, nil
	}
	m, _, ok, err := b.EndTxnMarker()
	if err != nil || !ok {
		return marker{}, err
	}
	if m.Commit {
		_, seen := t.committed[b.ProducerID]
		delete(t.committed, b.ProducerID)
		return marker{spent: !seen}, nil
	}
	a := t.aborted[b.ProducerID]
	delete(t.aborted, b.ProducerID)
	if a == nil || !a.batchSeen {
		return marker{spent: true}, nil
	}
	return marker{aborted: &a.AbortedTxn}, nil
}
