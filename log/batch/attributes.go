package batch

import "fmt"

// Attributes are the flags of a batch: bits 0-2 codec, 3 timestamp type, 4 transactional,
// 5 control, 6 delete horizon (KIP-534). The higher bits are unused.
type Attributes uint16

const (
	codecMask         Attributes = 0x07
	logAppendTimeFlag Attributes = 0x08
	transactionalFlag Attributes = 0x10
	controlFlag       Attributes = 0x20
	deleteHorizonFlag Attributes = 0x40
)

// Codec is the compression of a batch's records.
type Codec uint8

// The codecs, numbered as on the wire.
const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

// String is the name that compression.type uses.
func (c Codec) String() string {
	switch c {
	case None:
		return "none"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("unknown codec %d", uint8(c))
}

// TimestampType says who set a batch's timestamps.
type TimestampType int8

// The timestamp types.
const (
	CreateTime    TimestampType = 0
	LogAppendTime TimestampType = 1
)

// String is the name that message.timestamp.type uses.
func (t TimestampType) String() string {
	if t == LogAppendTime {
		return "LogAppendTime"
	}
	return "CreateTime"
}

// Codec is the compression; it may be one that doesn't exist (5-7).
func (a Attributes) Codec() Codec { return Codec(a & codecMask) }

// TimestampType says who set the timestamps.
func (a Attributes) TimestampType() TimestampType {
	if a&logAppendTimeFlag != 0 {
		return LogAppendTime
	}
	return CreateTime
}

// IsTransactional tells whether the batch belongs to a transaction.
func (a Attributes) IsTransactional() bool { return a&transactionalFlag != 0 }

// IsControl tells whether the batch holds control records, which no consumer is shown.
func (a Attributes) IsControl() bool { return a&controlFlag != 0 }

// HasDeleteHorizon tells whether the base timestamp is the delete horizon that the log
// cleaner set.
func (a Attributes) HasDeleteHorizon() bool { return a&deleteHorizonFlag != 0 }

// withTimestampType returns a with the timestamp type replaced, and without the bits that
// mean nothing, as Kafka does it.
func (a Attributes) withTimestampType(t TimestampType) Attributes {
	a &= codecMask | transactionalFlag | controlFlag | deleteHorizonFlag
	if t == LogAppendTime {
		a |= logAppendTimeFlag
	}
	return a
}
