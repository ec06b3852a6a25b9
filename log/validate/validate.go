package validate

import "github.com/ottla/ottla/log/batch"

// Analysis is what the headers of an append say: everything that needs no offset.
type Analysis struct {
	// Records are the bytes of the whole batches; a torn last batch is cut off
	// (OriginReplication only).
	Records      []byte
	NumBatches   int
	First        batch.Header // head of the first batch
	LastOffset   int64        // of the last batch, as sent
	MaxTimestamp int64
	// OffsetsMonotonic tells that the batches' offsets grow.
	OffsetsMonotonic bool
}

// Analyze checks sizes, magic, CRC and order of the batches. It doesn't change records and
// doesn't allocate.
func Analyze(records []byte, p *Params) (Analysis, error) { panic("unwritten") }

// Append checks the analyzed batches and their records and assigns offsets from
// p.FirstOffset on. It takes a.Records and patches them in place.
// Requires: p.Origin is not OriginReplication.
func Append(a *Analysis, p *Params, codecs *batch.Codecs) (Result, error) { panic("unwritten") }

// AppendAsFollower checks batches copied from the leader, which keep their offsets:
// they must follow p.FirstOffset (the log end).
func AppendAsFollower(a *Analysis, p *Params) (Result, error) { panic("unwritten") }
