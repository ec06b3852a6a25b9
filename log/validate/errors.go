package validate

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/log/batch"
)

// maxRecordErrors bounds the records named in one refusal. Kafka names all, but a compressed
// batch of one megabyte can hold hundreds of millions.
const maxRecordErrors = 1000

// RecordError is what is wrong with one record of a batch.
type RecordError struct {
	// BatchIndex is the position of the record in its batch.
	BatchIndex int32
	Message    string
}

// RecordErrors refuses an append because of records in it; Err carries the code
// (INVALID_RECORD, INVALID_TIMESTAMP) and the message of the partition's response. It is the
// only error of an append whose message a client is sent.
type RecordErrors struct {
	Err *kerror.Error
	// Records are the first maxRecordErrors records that are wrong.
	Records []RecordError
}

// Error implements error.
func (e *RecordErrors) Error() string { return e.Err.Error() }

// Unwrap gives the code to errors.Is and kerror.CodeOf.
func (e *RecordErrors) Unwrap() error { return e.Err }

// collector gathers what is wrong with records.
type collector struct {
	records   []RecordError
	total     int
	timestamp bool // at least one is INVALID_TIMESTAMP, which then is the answer
}

func (c *collector) add(index int32, message func() string) {
	c.total++
	if len(c.records) < maxRecordErrors {
		c.records = append(c.records, RecordError{BatchIndex: index, Message: message()})
	}
}

// err is nil if nothing was wrong.
func (c *collector) err() error {
	if c.total == 0 {
		return nil
	}
	if c.timestamp {
		return &RecordErrors{
			Err:     kerror.New(kerr.InvalidTimestamp, "One or more records have been rejected due to invalid timestamp"),
			Records: c.records,
		}
	}
	var shown []string
	for _, r := range c.records[:min(3, len(c.records))] {
		shown = append(shown, fmt.Sprintf("RecordError(batchIndex=%d, message='%s')", r.BatchIndex, r.Message))
	}
	return &RecordErrors{
		Err: kerror.New(kerr.InvalidRecord,
			"One or more records have been rejected due to %d record errors in total, and only showing the first three errors at most: [%s]",
			c.total, strings.Join(shown, ", ")),
		Records: c.records,
	}
}

// invalid returns INVALID_RECORD, of which a client is told the code alone.
func invalid(format string, args ...any) error {
	return kerror.Wrap(kerr.InvalidRecord, fmt.Errorf(format, args...))
}

// tooLarge returns MESSAGE_TOO_LARGE for a batch above max.message.bytes.
func tooLarge(p *Params, sizeBytes int) error {
	return kerror.Wrap(kerr.MessageTooLarge, fmt.Errorf(
		"batch of %d bytes in append to partition %s exceeds max.message.bytes (%d)", sizeBytes, p.name(), p.MaxMessageBytes))
}

// describe is Kafka's text of a record in messages; those that were skimmed have another name.
func describe(rec *batch.Record, skimmed bool) string {
	if skimmed {
		return fmt.Sprintf("PartialDefaultRecord(offset=%d, timestamp=%d, key=%d bytes, value=%d bytes)",
			rec.Offset, rec.Timestamp, rec.KeySize, rec.ValueSize)
	}
	return fmt.Sprintf("DefaultRecord(offset=%d, timestamp=%d, key=%d bytes, value=%d bytes)",
		rec.Offset, rec.Timestamp, max(rec.KeySize, 0), max(rec.ValueSize, 0))
}
