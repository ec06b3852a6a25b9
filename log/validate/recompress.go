package validate

import (
	"github.com/ottla/ottla/log/batch"
)

// recompress checks the records of a batch and writes them into a new one with another codec
// (LogValidator.buildRecordsAndAssignOffsets). Offsets are counted anew; the producer's fields
// and the transactional flag are kept.
func recompress(b *batch.Batch, p *Params, codecs *batch.Codecs, target batch.Codec) (Result, error) {
	var r batch.RecordReader
	if err := r.Open(codecs, b, p.readLimits(maxRecompressBytes)); err != nil {
		return Result{}, err
	}
	o := batch.DefaultOptions()
	o.BaseOffset, o.LeaderEpoch = p.FirstOffset, p.LeaderEpoch
	o.Codec, o.Level = target, p.Compression.Level
	o.TimestampType, o.LogAppendTimeMs = p.TimestampType, p.NowMs
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = b.ProducerID, b.ProducerEpoch, b.BaseSequence
	o.Transactional = b.Attributes.IsTransactional()
	builder := codecs.NewBuilder(make([]byte, 0, b.SizeBytes()), o)
	var (
		c   collector
		rec batch.Record
	)
	next := p.FirstOffset
	for index := int32(0); r.Next(&rec); index++ {
		if checkRecord(&c, b, &rec, index, false, p) {
			builder.AppendRecord(next, &rec)
		}
		next++
	}
	err := r.Err()
	r.Close()
	records, buildErr := builder.Build()
	switch {
	case err != nil:
		return Result{}, err
	case c.err() != nil:
		return Result{}, c.err()
	case buildErr != nil:
		return Result{}, buildErr
	case len(records) > int(p.MaxMessageBytes):
		return Result{}, tooLarge(p, len(records))
	}
	built, _, err := batch.Parse(records)
	if err != nil {
		return Result{}, err
	}
	return result(&built, p, next-1, true), nil
}
