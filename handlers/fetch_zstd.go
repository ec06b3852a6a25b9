package handlers

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/replica"
	"github.com/ottla/ottla/wire"
)

// withholdZstd keeps zstd batches from a client that is too old to read them (KIP-110): what comes
// before the first one is sent, and a fetch that starts at one fails with
// UNSUPPORTED_COMPRESSION_TYPE. Kafka looks at the topic's compression.type only and lets batches
// of producers pass, on which old clients then stumble.
func (f *fetch) withholdZstd(fp *replica.FetchPartition) {
	if fp.Records == nil {
		return
	}
	n, found := bytesBeforeZstd(fp.Records)
	switch {
	case !found:
	case n > 0:
		fp.Records = &cutRange{FileRange: fp.Records, n: n}
	default:
		fp.Records.Release()
		fp.Records = nil
		fp.Err = kerr.UnsupportedCompressionType
		fp.HighWatermark, fp.LastStableOffset, fp.LogStartOffset = -1, -1, -1
		f.d.Logger.Info("upgrade the client: its version of Fetch can't carry zstd", "api_version", f.r.Version,
			"topic", fp.Topic, "partition", fp.Partition, "client", f.r.Session.ClientAddr)
	}
}

// bytesBeforeZstd walks the heads of the batches in a range.
func bytesBeforeZstd(records wire.FileRange) (n int, found bool) {
	var head [batch.HeaderSize]byte
	for n+len(head) <= records.Len() {
		if _, err := records.ReadAt(head[:], records.Position()+int64(n)); err != nil {
			return 0, false
		}
		h, err := batch.ParseHeader(head[:])
		if err != nil {
			return 0, false
		}
		if h.Magic == batch.MagicV2 && h.Attributes.Codec() == batch.Zstd {
			return n, true
		}
		n += h.SizeBytes()
	}
	return 0, false
}

// cutRange is the first bytes of a range.
type cutRange struct {
	wire.FileRange
	n int
}

// Len implements wire.FileRange.
func (c *cutRange) Len() int { return c.n }
