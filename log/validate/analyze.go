package validate

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/log/batch"
)

// Analysis is what the heads of an append say: everything that needs no offset.
type Analysis struct {
	// Records are the bytes of the whole batches; what follows them is cut off, and for
	// OriginReplication also batches of a leader epoch above the follower's own.
	Records    []byte
	NumBatches int
	// First is the first batch; it borrows Records.
	First batch.Batch
	// LastOffset and LeaderEpoch are those of the last batch, as sent.
	LastOffset  int64
	LeaderEpoch int32
	// MaxTimestamp is the largest max timestamp; OffsetOfMaxTimestamp the last offset of the
	// first batch that has it.
	MaxTimestamp         int64
	OffsetOfMaxTimestamp int64
}

// Analyze checks sizes, CRC and order of the batches, as the oracle's
// UnifiedLog.analyzeAndValidateRecords does before it takes the partition's lock. It changes
// no byte and, unless it fails, allocates nothing. Errors: CORRUPT_MESSAGE, MESSAGE_TOO_LARGE,
// INVALID_RECORD. p.FirstOffset isn't used.
func Analyze(records []byte, p *Params) (Analysis, error) {
	a := Analysis{LastOffset: -1, LeaderEpoch: batch.NoLeaderEpoch, MaxTimestamp: batch.NoTimestamp, OffsetOfMaxTimestamp: -1}
	rest := records
	for len(rest) > 0 {
		b, after, err := batch.Parse(rest)
		if errors.Is(err, batch.ErrTruncated) {
			break
		}
		if err != nil {
			return a, err
		}
		if p.Origin == OriginReplication && b.LeaderEpoch != batch.NoLeaderEpoch && b.LeaderEpoch > p.LeaderEpoch {
			break
		}
		if err := analyzeBatch(&b, p); err != nil {
			return a, err
		}
		if a.NumBatches == 0 {
			a.First = b
		} else if p.Origin == OriginReplication && b.LastOffset() <= a.LastOffset {
			return a, kerror.Wrap(kerr.UnknownServerError, fmt.Errorf(
				"out of order offsets in append to %s: %d after %d", p.name(), b.LastOffset(), a.LastOffset))
		}
		a.NumBatches++
		a.LastOffset, a.LeaderEpoch = b.LastOffset(), b.LeaderEpoch
		if b.MaxTimestamp > a.MaxTimestamp {
			a.MaxTimestamp, a.OffsetOfMaxTimestamp = b.MaxTimestamp, b.LastOffset()
		}
		rest = after
	}
	size := len(records) - len(rest)
	a.Records = records[:size:size]
	return a, nil
}

// analyzeBatch checks one batch, in Kafka's order.
func analyzeBatch(b *batch.Batch, p *Params) error {
	if p.Origin == OriginClient && b.Magic >= batch.MagicV2 && b.BaseOffset != 0 {
		return invalid("the base offset of the record batch in the append to %s should be 0, but it is %d", p.name(), b.BaseOffset)
	}
	if p.Origin != OriginReplication && b.SizeBytes() > int(p.MaxMessageBytes) {
		return tooLarge(p, b.SizeBytes())
	}
	if err := b.CheckCRC(); err != nil {
		return err
	}
	if codec := b.Attributes.Codec(); codec > batch.Zstd {
		return kerror.Wrap(kerr.UnknownServerError, fmt.Errorf("unknown compression type id: %d", uint8(codec)))
	}
	return nil
}
