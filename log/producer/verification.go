package producer

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/log/batch"
)

// Guard ties the append of a transactional batch to the verification that went before it
// (KIP-890): if a marker came in between, the guard is no longer the current one. 0 is none.
type Guard uint64

// verification is a question to the transaction coordinator under way: does this producer's
// transaction include the partition?
type verification struct {
	guard       Guard
	startedAtMs int64
	// lowestSequence is the smallest first sequence asked for at producerEpoch; a batch above it
	// may not open the transaction.
	lowestSequence int32
	producerEpoch  int16
	// supportsEpochBump says that the producer uses transactions v2, whose epoch grows with
	// each transaction.
	supportsEpochBump bool
}

// StartVerification is called before the coordinator is asked about a transactional batch. A
// guard of 0 says that nothing needs to be asked: the transaction is open here. Several
// questions of one producer share a guard. INVALID_PRODUCER_EPOCH if the epoch is an old one.
func (s *State) StartVerification(producerID int64, sequence int32, producerEpoch int16, supportsEpochBump bool, nowMs int64) (Guard, error) {
	if e, ok := s.producers[producerID]; ok && producerEpoch < e.producerEpoch {
		return 0, kerror.New(kerr.InvalidProducerEpoch, "Epoch of producer %d is %d, which is smaller than the last seen epoch %d",
			producerID, producerEpoch, e.producerEpoch)
	}
	if s.HasOngoingTransaction(producerID, producerEpoch) {
		return 0, nil
	}
	v, ok := s.verifications[producerID]
	if !ok {
		s.lastGuard++
		s.boundVerifications()
		v = verification{
			guard: s.lastGuard, startedAtMs: nowMs, lowestSequence: sequence,
			producerEpoch: producerEpoch, supportsEpochBump: supportsEpochBump,
		}
	}
	switch {
	case producerEpoch > v.producerEpoch:
		v.producerEpoch, v.lowestSequence = producerEpoch, sequence
	case producerEpoch == v.producerEpoch:
		v.lowestSequence = min(v.lowestSequence, sequence)
	}
	s.verifications[producerID] = v
	return v.guard, nil
}

// verified tells whether guard is the producer's current one.
func (s *State) verified(producerID int64, guard Guard) bool {
	return guard != 0 && s.verifications[producerID].guard == guard
}

// endVerification forgets the question at a marker, unless it is about the next transaction:
// with transactions v2 a marker of the question's own epoch ends the one before.
func (s *State) endVerification(marker *batch.Batch) {
	v, ok := s.verifications[marker.ProducerID]
	if ok && !(v.supportsEpochBump && v.producerEpoch == marker.ProducerEpoch) {
		delete(s.verifications, marker.ProducerID)
	}
}

// boundVerifications makes room for a question: above the bound of producers the oldest ones are forgotten,
// many at once. Their guards are void then.
func (s *State) boundVerifications() {
	if len(s.verifications) < s.cfg.MaxProducers {
		return
	}
	guards := make([]Guard, 0, len(s.verifications))
	for _, v := range s.verifications {
		guards = append(guards, v.guard)
	}
	slices.Sort(guards) // In the order in which they were given.
	last := guards[max(1, s.cfg.MaxProducers/evictFraction)-1]
	maps.DeleteFunc(s.verifications, func(_ int64, v verification) bool { return v.guard <= last })
}
