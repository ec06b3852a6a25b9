package validate

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/log/batch"
)

const (
	// maxSkimBytes bounds what is decompressed of a batch to check its records, which costs
	// time but no memory. Kafka has no bound.
	maxSkimBytes = 2 << 30
	// maxRecompressBytes bounds the decompressed records of a batch that is stored with another
	// codec, which are held in memory. Kafka has no bound.
	maxRecompressBytes = 256 << 20
)

// Append checks the analyzed batch and its records and assigns offsets from p.FirstOffset on.
// It takes a.Records and patches them in place; after an error their head is as it was. Errors
// besides Analyze's: *RecordErrors, UNKNOWN_SERVER_ERROR for compressed data that can't be
// read, RECORD_LIST_TOO_LARGE. Requires: p.Origin is not OriginReplication.
func Append(a *Analysis, p *Params, codecs *batch.Codecs) (Result, error) {
	switch {
	case a.NumBatches == 0:
		return Result{}, invalid("record batch has no batches at all")
	case a.First.Magic != batch.MagicV2:
		return Result{}, kerror.Wrap(kerr.UnsupportedForMessageFormat, fmt.Errorf("magic %d can't be appended", a.First.Magic))
	case a.NumBatches > 1:
		return Result{}, invalid("compressed outer record has more than one batch")
	}
	b := a.First
	if err := checkBatch(&b, p); err != nil {
		return Result{}, err
	}
	source, target := b.Attributes.Codec(), p.Compression.Codec
	if p.Compression.Producer {
		target = source
	}
	var r Result
	var err error
	if source == target || source == batch.None && b.Attributes.IsControl() {
		r, err = inPlace(&b, p, codecs)
	} else {
		r, err = recompress(&b, p, codecs, target)
	}
	if err != nil {
		return Result{}, err
	}
	if p.SegmentBytes > 0 && len(r.Records) > int(p.SegmentBytes) {
		return Result{}, kerror.Wrap(kerr.RecordListTooLarge, fmt.Errorf(
			"append of %d bytes to partition %s exceeds segment.bytes (%d)", len(r.Records), p.name(), p.SegmentBytes))
	}
	return r, nil
}

// AppendAsFollower checks batches copied from the leader, which keep their offsets and must
// not lie below p.FirstOffset, the log end. UNKNOWN_SERVER_ERROR otherwise: the logs diverged.
func AppendAsFollower(a *Analysis, p *Params) (Result, error) {
	if a.NumBatches == 0 {
		return Result{}, invalid("record batch has no batches at all")
	}
	first := a.First.BaseOffset
	if a.First.Magic < batch.MagicV2 {
		first = a.First.LastOffset()
	}
	if first < p.FirstOffset {
		return Result{}, kerror.Wrap(kerr.UnknownServerError, fmt.Errorf(
			"unexpected offset in append to %s: first offset %d is below the log end %d", p.name(), first, p.FirstOffset))
	}
	return Result{
		Records: a.Records, FirstOffset: first, LastOffset: a.LastOffset, NumBatches: a.NumBatches,
		MaxTimestamp: a.MaxTimestamp, OffsetOfMaxTimestamp: a.OffsetOfMaxTimestamp,
		LogAppendTimeMs: batch.NoTimestamp, LeaderEpoch: a.LeaderEpoch,
	}, nil
}

// checkBatch checks a batch's head (LogValidator.validateBatch).
func checkBatch(b *batch.Batch, p *Params) error {
	if p.Origin != OriginClient {
		return nil
	}
	count := int64(b.LastOffsetDelta) + 1
	switch {
	case count <= 0:
		return invalid("batch has an invalid offset range: [%d, %d] in topic partition %s", b.BaseOffset, b.LastOffset(), p.name())
	case b.NumRecords <= 0:
		return invalid("invalid reported count for record batch: %d in topic partition %s", b.NumRecords, p.name())
	case count != int64(b.NumRecords):
		return invalid("inconsistent batch offset range [%d, %d] and count of records %d in topic partition %s",
			b.BaseOffset, b.LastOffset(), b.NumRecords, p.name())
	case b.Attributes.IsControl():
		return invalid("clients are not allowed to write control records in topic partition %s", p.name())
	case b.HasProducerID() && b.BaseSequence < 0:
		return invalid("invalid sequence number %d in record batch with producer id %d in topic partition %s",
			b.BaseSequence, b.ProducerID, p.name())
	}
	return nil
}

// checkRecord adds to c what is wrong with a record and reports whether it is right
// (LogValidator.validateRecord).
func checkRecord(c *collector, b *batch.Batch, rec *batch.Record, index int32, skimmed bool, p *Params) bool {
	if p.Compacted && !rec.HasKey() {
		c.add(index, func() string {
			return "Compacted topic cannot accept message without key in topic partition " + p.name()
		})
		return false
	}
	if p.TimestampType == batch.CreateTime && rec.Timestamp != batch.NoTimestamp {
		// Both sums may wrap, as they do in Kafka.
		age := p.NowMs - rec.Timestamp
		if age <= p.BeforeMaxMs && -age <= p.AfterMaxMs {
			return true
		}
		c.timestamp = true
		c.add(index, func() string {
			return fmt.Sprintf("Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
				rec.Timestamp, rec.Offset, p.NowMs-p.BeforeMaxMs, p.NowMs+p.AfterMaxMs)
		})
		return false
	}
	if b.Attributes.TimestampType() == batch.LogAppendTime {
		c.timestamp = true
		c.add(index, func() string {
			return fmt.Sprintf("Invalid timestamp type in message %s. Producer should not set timestamp type to LogAppendTime.",
				describe(rec, skimmed))
		})
		return false
	}
	return true
}

// inPlace checks the records of a batch that keeps its codec, and patches its head.
func inPlace(b *batch.Batch, p *Params, codecs *batch.Codecs) (Result, error) {
	compressed := b.Attributes.Codec() != batch.None
	var r batch.RecordReader
	if err := r.Open(codecs, b, p.readLimits(maxSkimBytes)); err != nil {
		return Result{}, err
	}
	var (
		c            collector
		rec          batch.Record
		maxTimestamp = batch.NoTimestamp
		sequential   = true
		index        int32
	)
	for ; r.Skim(&rec); index++ {
		if checkRecord(&c, b, &rec, index, compressed, p) {
			maxTimestamp = max(maxTimestamp, rec.Timestamp)
			sequential = sequential && rec.Offset == int64(index)
		}
	}
	err := r.Err()
	r.Close()
	if err != nil {
		return Result{}, err
	}
	if err := c.err(); err != nil {
		return Result{}, err
	}
	if compressed && !sequential {
		// Kafka goes on to write the batch anew, and trips over having left out keys and values.
		return Result{}, kerror.Wrap(kerr.UnknownServerError, fmt.Errorf(
			"offsets in a compressed batch of topic partition %s don't count from 0", p.name()))
	}
	if p.TimestampType == batch.LogAppendTime {
		maxTimestamp = p.NowMs
	}
	// The last record gets the offset that counting records yields, wherever the base is then.
	lastOffset := p.FirstOffset + int64(index) - 1
	b.SetBaseOffset(lastOffset - int64(b.LastOffsetDelta))
	b.SetLeaderEpoch(p.LeaderEpoch)
	b.SetMaxTimestamp(p.TimestampType, maxTimestamp)
	return result(b, p, lastOffset, false), nil
}

// result describes the append of b.
func result(b *batch.Batch, p *Params, lastOffset int64, recompressed bool) Result {
	r := Result{
		Records: b.Bytes(), Recompressed: recompressed, FirstOffset: p.FirstOffset, LastOffset: lastOffset,
		NumBatches: 1, MaxTimestamp: b.MaxTimestamp, OffsetOfMaxTimestamp: lastOffset,
		LogAppendTimeMs: batch.NoTimestamp, LeaderEpoch: p.LeaderEpoch, Batch: *b,
	}
	if p.TimestampType == batch.LogAppendTime {
		r.LogAppendTimeMs = p.NowMs
	}
	return r
}
