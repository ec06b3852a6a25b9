package clean

import (
	"fmt"

	"github.com/ottla/ottla/log/batch"
)

// LastRecord is the end of what a producer wrote.
type LastRecord struct {
	// LastDataOffset is that of its last data batch that is remembered, -1 if there is none.
	LastDataOffset int64
	ProducerEpoch  int16
}

// Filter says what compaction leaves of each batch of a log, read in order from its beginning.
type Filter struct {
	Map    *OffsetMap
	Codecs *batch.Codecs
	Limits batch.ReadLimits
	Txns   *Transactions
	// NowMs is when the cleaning began, DeleteRetentionMs is delete.retention.ms.
	NowMs, DeleteRetentionMs int64
	// LastRecords are the ends of all producers that the log remembers.
	LastRecords map[int64]LastRecord
	// RoundEnd is the first offset that this cleaning doesn't touch; the batch before it stays, if only
	// as a head, so that the end of what was cleaned is known.
	RoundEnd int64
	// KeepLegacyTombstones keeps tombstones of magic 0 and 1, which have no delete horizon.
	KeepLegacyTombstones bool
	// Aborted is called for each aborted transaction of which records or heads are left.
	Aborted func(AbortedTxn) error

	// Stats counts what was done.
	Stats Stats

	reader batch.RecordReader
	// keep says which records of the batch at hand stay.
	keep []bool
	// plain are the records of the batch at hand if isPlain.
	plain   []batch.PlainRecord
	isPlain bool
	lookup  lookup
}

// Stats counts records.
type Stats struct {
	RecordsRead, RecordsKept int64
	// RecordsWithoutKey are those that compaction drops for the want of a key.
	RecordsWithoutKey int64
}

// verdict is what is known of a batch before its records are looked at.
type verdict struct {
	// dropRecords drops all records, keepEmpty keeps the head of a batch without records.
	dropRecords, keepEmpty bool
	// spentMarker says that b is a marker whose transaction has no batches left.
	spentMarker bool
}

// Append appends what is left of b to dst: b itself, a smaller batch in its place, its head, or nothing.
// The checksum of b was checked. unchanged says that it is b itself. (Kafka: Cleaner.cleanInto and
// MemoryRecords.filterTo.)
func (f *Filter) Append(dst []byte, b *batch.Batch) (out []byte, unchanged bool, err error) {
	v, err := f.judge(b)
	if err != nil {
		return dst, false, err
	}
	if v.dropRecords {
		f.Stats.RecordsRead += int64(max(b.NumRecords, 0))
		if !v.keepEmpty {
			return dst, false, nil
		}
		return batch.AppendEmpty(dst, &b.Header), b.NumRecords == 0 && b.Attributes.Codec() == batch.None, nil
	}
	kept, dropped, tombstones, err := f.choose(b)
	if err != nil {
		return dst, false, err
	}
	if b.Magic < batch.MagicV2 {
		// A message is one record; of a compressed set all stay as long as one does.
		if kept == 0 && !v.keepEmpty {
			return dst, false, nil
		}
		return append(dst, b.Bytes()...), true, nil
	}
	if kept == 0 {
		if !v.keepEmpty {
			return dst, false, nil
		}
		return batch.AppendEmpty(dst, &b.Header), b.NumRecords == 0, nil
	}
	setHorizon := (tombstones || v.spentMarker) && !b.Attributes.HasDeleteHorizon()
	if dropped == 0 && !setHorizon {
		return append(dst, b.Bytes()...), true, nil
	}
	out, err = f.rewrite(dst, b, setHorizon)
	return out, false, err
}

// judge decides what needs no look at the records.
func (f *Filter) judge(b *batch.Batch) (v verdict, err error) {
	if b.Magic >= batch.MagicV2 && b.Attributes.IsControl() {
		m, err := f.Txns.control(b)
		if err != nil {
			return v, err
		}
		if m.aborted != nil {
			if err := f.Aborted(*m.aborted); err != nil {
				return v, err
			}
		}
		horizon, ok := b.DeleteHorizonMs()
		v.spentMarker = m.spent
		v.dropRecords = m.spent && (b.NumRecords == 0 || ok && horizon <= f.NowMs)
	} else if b.Magic >= batch.MagicV2 {
		v.dropRecords = f.Txns.Batch(&b.Header)
	}
	v.keepEmpty = b.NextOffset() == f.RoundEnd || b.HasProducerID() && f.isLastOfProducer(b)
	return v, nil
}

// isLastOfProducer says that b has what is remembered of its producer: the last sequence number, or, of
// one without data, the epoch.
func (f *Filter) isLastOfProducer(b *batch.Batch) bool {
	last, ok := f.LastRecords[b.ProducerID]
	if !ok {
		return false
	}
	if last.LastDataOffset >= 0 {
		return b.LastOffset() == last.LastDataOffset
	}
	return b.Attributes.IsControl() && b.ProducerEpoch == last.ProducerEpoch
}

// choose fills f.keep, and counts. tombstones says that one of the kept records is one.
func (f *Filter) choose(b *batch.Batch) (kept, dropped int, tombstones bool, err error) {
	if f.plain, f.isPlain = plainRecords(f.plain, b); f.isPlain {
		kept, dropped, tombstones = f.choosePlain(b)
	} else if kept, dropped, tombstones, err = f.chooseAny(b); err != nil {
		return 0, 0, false, err
	}
	f.Stats.RecordsRead += int64(kept + dropped)
	f.Stats.RecordsKept += int64(kept)
	return kept, dropped, tombstones, nil
}

// chooseAny is choose for batches of any kind.
func (f *Filter) chooseAny(b *batch.Batch) (kept, dropped int, tombstones bool, err error) {
	if err := f.reader.Open(f.Codecs, b, f.Limits); err != nil {
		return 0, 0, false, err
	}
	defer f.reader.Close()
	f.keep = f.keep[:0]
	var rec batch.Record
	for next := b.BaseOffset; f.reader.Next(&rec); {
		if err := checkOffset(b, &rec, &next); err != nil {
			return 0, 0, false, err
		}
		keep := f.retain(b, &rec)
		f.keep = append(f.keep, keep)
		if keep {
			kept++
			tombstones = tombstones || rec.ValueSize < 0
		} else {
			dropped++
		}
	}
	return kept, dropped, tombstones, f.reader.Err()
}

// retain decides about one record.
func (f *Filter) retain(b *batch.Batch, rec *batch.Record) bool {
	switch {
	case f.outOfReach(b, rec.Offset):
		return true
	case !rec.HasKey():
		f.Stats.RecordsWithoutKey++
		return false
	}
	return f.Map.IsLast(rec.Key, rec.Offset) && (rec.ValueSize >= 0 || f.retainTombstone(b))
}

// outOfReach says that the record at offset of b isn't one that its key decides about.
func (f *Filter) outOfReach(b *batch.Batch, offset int64) bool {
	return b.Magic >= batch.MagicV2 && b.Attributes.IsControl() || offset > f.Map.Latest()
}

// retainTombstone decides about a tombstone of b that is the last record of its key.
func (f *Filter) retainTombstone(b *batch.Batch) bool {
	if b.Magic < batch.MagicV2 {
		return f.KeepLegacyTombstones
	}
	horizon, ok := b.DeleteHorizonMs()
	return !ok || f.NowMs < horizon
}

// rewrite appends a batch of the kept records. Requires: choose looked at b.
func (f *Filter) rewrite(dst []byte, b *batch.Batch, setHorizon bool) ([]byte, error) {
	o := b.RewriteOptions()
	if setHorizon {
		o.DeleteHorizon, o.DeleteHorizonMs = true, addMs(f.NowMs, f.DeleteRetentionMs)
	}
	if f.isPlain {
		return f.rewritePlain(dst, b, o)
	}
	if err := f.reader.Open(f.Codecs, b, f.Limits); err != nil {
		return dst, err
	}
	defer f.reader.Close()
	builder := f.Codecs.NewBuilder(dst, o)
	var rec batch.Record
	for i := 0; f.reader.Next(&rec); i++ {
		if f.keep[i] {
			builder.AppendRecord(rec.Offset, &rec)
		}
	}
	out, err := builder.Build()
	if err == nil {
		err = f.reader.Err()
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

// addMs adds without running over.
func addMs(a, b int64) int64 {
	if b > 0 && a > NoLimit-b {
		return NoLimit
	}
	return a + b
}

// checkOffset demands that the records' offsets rise, and stay inside the batch. *next is the smallest one
// that may come. The first offset of a legacy set isn't in its head, so there only the last one binds.
func checkOffset(b *batch.Batch, rec *batch.Record, next *int64) error {
	if rec.Offset > b.LastOffset() || b.Magic >= batch.MagicV2 && rec.Offset < *next {
		return fmt.Errorf("record at offset %d in a batch of offsets %d to %d", rec.Offset, b.BaseOffset, b.LastOffset())
	}
	*next = rec.Offset + 1
	return nil
}
