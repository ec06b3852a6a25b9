package producer

import (
	"cmp"
	"slices"
)

// DefaultMaxProducers is used if Config.MaxProducers is 0.
const DefaultMaxProducers = 100_000

// Config bounds a State.
type Config struct {
	// Topic and Partition are named in messages.
	Topic     string
	Partition int32
	// ExpirationMs is producer.id.expiration.ms. It also bounds unanswered verifications.
	ExpirationMs int64
	// VerificationEnabled is transaction.partition.verification.enable.
	VerificationEnabled bool
	// MaxProducers bounds the producers remembered, and questions to the coordinator: above it, those silent for longest and
	// without a transaction are forgotten as if they had expired. 0: DefaultMaxProducers. Kafka
	// has no bound.
	MaxProducers int
}

// State is the producer state of one partition.
type State struct {
	cfg       Config
	producers map[int64]entry
	// ongoing are the open transactions by first offset.
	// Invariant: a producer is in it if and only if its entry's txnFirstOffset is set, and
	// equal to it.
	ongoing []openTxn
	// unreplicated are transactions whose marker may lie at or above the high watermark, by
	// first offset.
	unreplicated []endedTxn
	// mapEndOffset is the offset after the last batch taken in.
	mapEndOffset  int64
	verifications map[int64]verification
	lastGuard     Guard
}

// openTxn is a transaction without its marker yet.
type openTxn struct {
	firstOffset int64
	producerID  int64
}

// endedTxn is a transaction with its marker.
type endedTxn struct {
	firstOffset int64
	lastOffset  int64 // the marker's
}

// New returns an empty state that ends at offset 0.
func New(cfg Config) *State {
	if cfg.MaxProducers == 0 {
		cfg.MaxProducers = DefaultMaxProducers
	}
	return &State{cfg: cfg, producers: map[int64]entry{}, verifications: map[int64]verification{}}
}

// SetExpirationMs changes producer.id.expiration.ms, which is dynamic.
func (s *State) SetExpirationMs(ms int64) { s.cfg.ExpirationMs = ms }

// SetVerificationEnabled changes transaction.partition.verification.enable, which is dynamic.
func (s *State) SetVerificationEnabled(on bool) { s.cfg.VerificationEnabled = on }

// Len is the number of producers remembered.
func (s *State) Len() int { return len(s.producers) }

// MapEndOffset is the offset after the last batch taken in: where replay goes on, and the name
// of a snapshot taken now.
func (s *State) MapEndOffset() int64 { return s.mapEndOffset }

// SetMapEndOffset moves it, past batches without a producer id.
func (s *State) SetMapEndOffset(offset int64) { s.mapEndOffset = offset }

// FirstUnstableOffset is the first offset of the oldest transaction that is open, or ended
// above the high watermark; ok is false if there is none.
func (s *State) FirstUnstableOffset() (offset int64, ok bool) {
	switch {
	case len(s.ongoing) == 0 && len(s.unreplicated) == 0:
		return 0, false
	case len(s.ongoing) == 0:
		return s.unreplicated[0].firstOffset, true
	case len(s.unreplicated) == 0:
		return s.ongoing[0].firstOffset, true
	}
	return min(s.ongoing[0].firstOffset, s.unreplicated[0].firstOffset), true
}

// OnHighWatermark forgets ended transactions whose marker lies below the high watermark.
func (s *State) OnHighWatermark(highWatermark int64) {
	s.unreplicated = slices.DeleteFunc(s.unreplicated, func(t endedTxn) bool { return t.lastOffset < highWatermark })
}

// OnLogStartOffset drops ended transactions below the new log start.
func (s *State) OnLogStartOffset(logStartOffset int64) {
	s.OnHighWatermark(logStartOffset)
	s.mapEndOffset = max(s.mapEndOffset, logStartOffset)
}

// TruncateFullyAndStartAt forgets everything; the map ends at offset. Guards that were given are void:
// none of them is given again.
func (s *State) TruncateFullyAndStartAt(offset int64) {
	clear(s.producers)
	clear(s.verifications)
	s.ongoing, s.unreplicated = nil, nil
	s.mapEndOffset = offset
}

// ReplaceBy takes over what another state knows, that of the log as it was at an earlier offset; it isn't used any more.
// Guards that were given are void, as in TruncateFullyAndStartAt.
func (s *State) ReplaceBy(earlier *State) {
	clear(s.verifications)
	s.producers, s.mapEndOffset = earlier.producers, earlier.mapEndOffset
	s.ongoing, s.unreplicated = earlier.ongoing, earlier.unreplicated
}

// HasOngoingTransaction tells whether the producer, at this epoch, has a transaction open.
func (s *State) HasOngoingTransaction(producerID int64, producerEpoch int16) bool {
	e, ok := s.producers[producerID]
	return ok && e.txnFirstOffset != noOffset && e.producerEpoch == producerEpoch
}

// Active is one row of DescribeProducers.
type Active struct {
	ProducerID            int64
	ProducerEpoch         int16
	LastSequence          int32 // batch.NoSequence: none
	LastTimestamp         int64 // ms
	CoordinatorEpoch      int32 // -1: none
	CurrentTxnFirstOffset int64 // -1: none
}

// ActiveProducers lists the producers by id.
func (s *State) ActiveProducers() []Active {
	all := make([]Active, 0, len(s.producers))
	for id, e := range s.producers {
		all = append(all, Active{
			ProducerID: id, ProducerEpoch: e.producerEpoch, LastSequence: e.lastSequence(),
			LastTimestamp: e.lastTimestamp, CoordinatorEpoch: e.coordinatorEpoch,
			CurrentTxnFirstOffset: e.txnFirstOffset,
		})
	}
	slices.SortFunc(all, func(a, b Active) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
	return all
}

// lookup returns the producer's entry, or one of which nothing is known.
func (s *State) lookup(producerID int64) entry {
	if e, ok := s.producers[producerID]; ok {
		return e
	}
	return newEntry()
}

// store keeps the producer's entry.
func (s *State) store(producerID int64, e entry) {
	s.producers[producerID] = e
	if len(s.producers) > s.cfg.MaxProducers {
		s.evict(producerID)
	}
}
