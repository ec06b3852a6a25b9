package commitlog

import (
	"errors"
	"fmt"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
)

// RecordErrors refuses an append because of single records. It is the cause of a *kerror.Error
// with the code to answer; find it with errors.As.
type RecordErrors struct {
	// Records has the refused records in the order of their index.
	Records []RecordError
}

// RecordError is why one record was refused.
type RecordError struct {
	// Index counts the records of the produced partition data from zero.
	Index int32
	// Message is sent to the client.
	Message string
}

// Error implements error.
func (e *RecordErrors) Error() string {
	if len(e.Records) == 0 {
		return "records refused"
	}
	return fmt.Sprintf("%d record(s) refused, the first: %s", len(e.Records), e.Records[0].Message)
}

// CorruptError says that bytes on disk are not what a log may hold.
type CorruptError struct {
	// Path is the file, Position the place in it in bytes.
	Path     string
	Position int64
	Reason   string
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is corrupt at position %d: %s", e.Path, e.Position, e.Reason)
}

// isCorrupt tells errors about bytes from those of a device.
func isCorrupt(err error) bool {
	var corrupt *CorruptError
	return errors.As(err, &corrupt)
}

// storageError is what clients see of any trouble with a directory.
func storageError(cause error) error { return kerror.Wrap(kerr.KafkaStorageError, cause) }

// outOfRange refuses an offset outside [logStartOffset, logEndOffset].
func outOfRange(offset, start, end int64) error {
	return kerror.Wrap(kerr.OffsetOutOfRange,
		fmt.Errorf("offset %d is outside of [%d, %d]", offset, start, end))
}
