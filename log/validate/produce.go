package validate

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/log/batch"
)

// minZstdProduceVersion is the first Produce version that may carry zstd (KIP-110).
const minZstdProduceVersion = 7

// FirstBatch reads the head of the first batch of a partition's records in a Produce request;
// ok is false if there is none. Kafka looks at it for every partition before it looks at
// anything else (is a transactional id needed?), so that an error fails the whole request,
// all its partitions, with code and message.
func FirstBatch(records []byte) (h batch.Header, ok bool, err error) {
	if _, _, err := batch.ParseSize(records); err != nil && !errors.Is(err, batch.ErrTruncated) {
		var e *kerror.Error
		if errors.As(err, &e) && e.Cause != nil {
			err = kerror.New(e.Kerr, "%s", e.Cause)
		}
		return batch.Header{}, false, err
	}
	first, _, err := batch.Parse(records)
	return first.Header, err == nil, nil // Any other error is for Produce to tell.
}

// Produce checks a partition's records against the version of the Produce request that holds
// them (ProduceRequest.validateRecords): exactly one batch, of magic 2, zstd from version 7 on.
// An error concerns that partition alone; its log start offset is answered as -1 then, unlike
// with errors of Append. Bytes after the batch that are too few for a second one are ignored.
func Produce(version int16, records []byte) error {
	first, rest, err := batch.Parse(records)
	switch {
	case errors.Is(err, batch.ErrTruncated):
		return invalid("Produce requests with version %d must have at least one record batch per partition", version)
	case err != nil:
		return err
	case first.Magic != batch.MagicV2:
		return invalid("Produce requests with version %d are only allowed to contain record batches with magic version 2", version)
	case version < minZstdProduceVersion && first.Attributes.Codec() == batch.Zstd:
		return kerror.Wrap(kerr.UnsupportedCompressionType,
			fmt.Errorf("Produce requests with version %d are not allowed to use ZStandard compression", version))
	}
	_, _, err = batch.Parse(rest)
	switch {
	case errors.Is(err, batch.ErrTruncated):
		return nil
	case err != nil:
		return err
	}
	return invalid("Produce requests with version %d are only allowed to contain exactly one record batch per partition", version)
}
