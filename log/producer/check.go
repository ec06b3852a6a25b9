package producer

import (
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/log/batch"
)

// Origin says who appends.
type Origin uint8

// The origins of a batch.
const (
	// OriginClient is a Produce request: held to sequence numbers.
	OriginClient Origin = iota
	// OriginCoordinator is a coordinator: held to epochs.
	OriginCoordinator
)

// CheckOptions say more about a batch than it does itself.
type CheckOptions struct {
	Origin Origin
	// Guard is what StartVerification gave before the coordinator was asked; 0: none.
	Guard Guard
	// TransactionVersion is the version of the transaction that a marker ends (KIP-890); from 2
	// on each transaction has its own producer epoch, which the marker is above.
	TransactionVersion int16
}

// Decision is what Check says about a batch that may be appended.
type Decision struct {
	// Duplicate is set if the batch is in the log already: answer its offsets, append nothing.
	Duplicate   bool
	DuplicateOf BatchMetadata
}

// tvEpochBump is the first transaction version with a producer epoch for each transaction.
const tvEpochBump = 2

// Check decides whether b, not yet in the log, may be appended; nothing is changed. Batches
// without a producer id pass. Errors: OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH,
// INVALID_TXN_STATE, TRANSACTION_COORDINATOR_FENCED, INVALID_RECORD for a marker that can't be
// read. b's offsets are only named in messages.
func (s *State) Check(b *batch.Batch, o CheckOptions) (Decision, error) {
	if !b.HasProducerID() {
		return Decision{}, nil
	}
	e := s.lookup(b.ProducerID)
	if o.Origin == OriginClient && e.producerEpoch == b.ProducerEpoch {
		if m, ok := e.find(b.BaseSequence, b.LastSequence()); ok {
			return Decision{Duplicate: true, DuplicateOf: m}, nil
		}
	}
	if b.Attributes.IsTransactional() && !s.HasOngoingTransaction(b.ProducerID, b.ProducerEpoch) {
		if err := s.checkNewTransaction(b, &e, o); err != nil {
			return Decision{}, err
		}
	}
	if b.Attributes.IsControl() {
		return Decision{}, s.checkMarker(b, &e, o)
	}
	return Decision{}, s.checkData(b, &e, o)
}

// checkNewTransaction checks a batch that would open a transaction, or end none.
func (s *State) checkNewTransaction(b *batch.Batch, e *entry, o CheckOptions) error {
	if b.ProducerEpoch < e.producerEpoch && !b.Attributes.IsControl() {
		return s.refuse(kerr.InvalidProducerEpoch, b, "epoch is smaller than the last seen epoch %d", e.producerEpoch)
	}
	if s.cfg.VerificationEnabled && !b.Attributes.IsControl() && !s.verified(b.ProducerID, o.Guard) {
		return s.refuse(kerr.InvalidTxnState, b, "record was not part of an ongoing transaction")
	}
	return nil
}

// checkData checks epoch, sequence and transaction of a data batch.
func (s *State) checkData(b *batch.Batch, e *entry, o CheckOptions) error {
	if b.ProducerEpoch < e.producerEpoch {
		return s.refuse(kerr.InvalidProducerEpoch, b, "epoch is smaller than the last seen epoch %d", e.producerEpoch)
	}
	if o.Origin == OriginClient {
		if err := s.checkSequence(b, e); err != nil {
			return err
		}
	}
	if e.txnFirstOffset != noOffset && !b.Attributes.IsTransactional() {
		return s.refuse(kerr.InvalidTxnState, b, "expected a transactional write")
	}
	return nil
}

// checkSequence checks the first sequence number. A producer of which nothing is known may
// start anywhere (KIP-360), unless the coordinator was just asked about it (KIP-890).
func (s *State) checkSequence(b *batch.Batch, e *entry) error {
	first := b.BaseSequence
	if v, ok := s.verifications[b.ProducerID]; ok {
		if v.supportsEpochBump && first != 0 && e.numBatches == 0 {
			return s.refuse(kerr.OutOfOrderSequenceNumber, b, "expected sequence 0 of a transactions v2 producer without state")
		}
		if first > v.lowestSequence {
			return s.refuse(kerr.OutOfOrderSequenceNumber, b, "the earliest sequence seen is %d", v.lowestSequence)
		}
	}
	switch {
	case e.producerEpoch == batch.NoProducerEpoch:
		return nil
	case b.ProducerEpoch != e.producerEpoch:
		if first != 0 {
			return s.refuse(kerr.OutOfOrderSequenceNumber, b, "a new epoch starts with 0; the current epoch is %d", e.producerEpoch)
		}
	case !inSequence(e.lastSequence(), first):
		return s.refuse(kerr.OutOfOrderSequenceNumber, b, "the current end sequence number is %d", e.lastSequence())
	}
	return nil
}

// inSequence tells whether next follows last, around the wrap too.
func inSequence(last, next int32) bool {
	return int64(next) == int64(last)+1 || next == 0 && last == math.MaxInt32
}

// checkMarker checks a transaction's end marker.
func (s *State) checkMarker(b *batch.Batch, e *entry, o CheckOptions) error {
	m, _, ok, err := b.EndTxnMarker()
	if err != nil || !ok {
		return err
	}
	stale := b.ProducerEpoch < e.producerEpoch
	if o.TransactionVersion >= tvEpochBump {
		// The same epoch again is a retry if the transaction has ended, or can't go higher.
		stale = stale || b.ProducerEpoch == e.producerEpoch && e.txnFirstOffset != noOffset && b.ProducerEpoch != math.MaxInt16
	}
	if stale {
		return s.refuse(kerr.InvalidProducerEpoch, b, "the marker's epoch is too small for the last seen epoch %d (TV%d)", e.producerEpoch, o.TransactionVersion)
	}
	if m.CoordinatorEpoch < e.coordinatorEpoch {
		return s.refuse(kerr.TransactionCoordinatorFenced, b, "coordinator epoch %d is a zombie's, the current one is %d", m.CoordinatorEpoch, e.coordinatorEpoch)
	}
	return nil
}

// refuse returns an error that names the batch; a client is told the code alone.
func (s *State) refuse(code *kerr.Error, b *batch.Batch, format string, args ...any) error {
	return kerror.Wrap(code, fmt.Errorf("producer %d, epoch %d, first sequence %d at offset %d in %s-%d: %s",
		b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.BaseOffset, s.cfg.Topic, s.cfg.Partition, fmt.Sprintf(format, args...)))
}
