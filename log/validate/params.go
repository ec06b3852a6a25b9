package validate

import (
	"strconv"

	"github.com/ottla/ottla/log/batch"
)

// Origin says who appends.
type Origin uint8

// The origins of an append.
const (
	// OriginClient is a Produce request.
	OriginClient Origin = iota
	// OriginCoordinator is a coordinator that writes its own topic or a transaction marker.
	OriginCoordinator
	// OriginReplication is a follower that copies its leader's batches, offsets included.
	OriginReplication
)

// Compression is a topic's compression.type with the level of its codec.
type Compression struct {
	// Producer keeps the codec of the client; the other fields are unused then.
	Producer bool
	// Codec is the codec that batches are stored with; None is compression.type=uncompressed.
	Codec batch.Codec
	// Level is the codec's level (compression.<codec>.level), batch.DefaultLevel for its default.
	Level int
}

// Params are the topic's settings and the partition's state that an append depends on.
type Params struct {
	// Topic and Partition are named in messages.
	Topic     string
	Partition int32
	Origin    Origin
	// FirstOffset is the offset that the first record gets; for OriginReplication the log end,
	// which the batches must not lie below.
	FirstOffset int64
	LeaderEpoch int32
	NowMs       int64
	// Compacted is cleanup.policy containing compact: records need keys.
	Compacted     bool
	Compression   Compression
	TimestampType batch.TimestampType
	// BeforeMaxMs and AfterMaxMs are message.timestamp.before.max.ms and …after.max.ms.
	BeforeMaxMs int64
	AfterMaxMs  int64
	// MaxMessageBytes is max.message.bytes: the bound of a batch.
	MaxMessageBytes int32
	// MaxDecompressedMessageBytes is max.decompressed.message.bytes: the bound of one record of
	// a compressed batch. 0 stands for its default, batch.MaxRecordBodyBytes.
	MaxDecompressedMessageBytes int32
	// SegmentBytes is segment.bytes: the bound of one append. 0: unbounded.
	SegmentBytes int32
}

// name is the partition as Kafka's messages name it.
func (p *Params) name() string { return p.Topic + "-" + strconv.Itoa(int(p.Partition)) }

// readLimits bound the reading of a batch's records.
func (p *Params) readLimits(totalBytes int64) batch.ReadLimits {
	body := p.MaxDecompressedMessageBytes
	if body == 0 {
		body = batch.MaxRecordBodyBytes
	}
	return batch.ReadLimits{TotalBytes: totalBytes, RecordBodyBytes: body}
}
