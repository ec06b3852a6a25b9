package validate

import "github.com/ottla/ottla/internal/kerror"

// Result is an append that may be written.
type Result struct {
	// Records are the bytes to write: the input patched in place, or new ones if Recompressed.
	Records []byte
	// Recompressed tells that Records is a new slice, owned by the caller.
	Recompressed bool
	FirstOffset  int64
	LastOffset   int64
	NumRecords   int
	// NumBatches is the number of batches in Records.
	NumBatches int
	// MaxTimestamp (ms) is the largest timestamp, -1 if none; OffsetOfMaxTimestamp is the last
	// offset of the batch that holds it, as the time index wants it.
	MaxTimestamp         int64
	OffsetOfMaxTimestamp int64
	// LogAppendTimeMs is the time given to the records, -1 unless LogAppendTime.
	LogAppendTimeMs int64
}

// RecordError is what is wrong with one record of a batch.
type RecordError struct {
	// BatchIndex is the position of the record in its batch.
	BatchIndex int32
	Message    string
}

// RecordErrors refuses an append because of records in it; Error carries the code
// (INVALID_RECORD, INVALID_TIMESTAMP) and message of the partition's response.
type RecordErrors struct {
	Err     *kerror.Error
	Records []RecordError
}

// Error implements error.
func (e *RecordErrors) Error() string { return e.Err.Error() }

// Unwrap gives the code to errors.Is and kerror.CodeOf.
func (e *RecordErrors) Unwrap() error { return e.Err }
