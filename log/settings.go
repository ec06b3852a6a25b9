package commitlog

import (
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/validate"
)

// settings is a Config with what is derived from it.
type settings struct {
	Config
	// params has the fields of validate.Params that no append changes.
	params validate.Params
}

func newSettings(tp topicPartition, c Config) *settings {
	timestamps := batch.CreateTime
	if c.LogAppendTime {
		timestamps = batch.LogAppendTime
	}
	return &settings{
		Config: c,
		params: validate.Params{
			Topic:           tp.topic,
			Partition:       tp.partition,
			Compacted:       c.Compact,
			Compression:     c.compression(),
			TimestampType:   timestamps,
			BeforeMaxMs:     c.TimestampBeforeMaxMs,
			AfterMaxMs:      c.TimestampAfterMaxMs,
			MaxMessageBytes: c.MaxMessageBytes,
			SegmentBytes:    c.SegmentBytes,

			MaxDecompressedMessageBytes: c.MaxDecompressedBytes,
		},
	}
}

// compression is what compression.type and the levels ask for.
func (c *Config) compression() validate.Compression {
	switch c.CompressionType {
	case "uncompressed":
		return validate.Compression{Codec: batch.None, Level: batch.DefaultLevel}
	case "gzip":
		level := int(c.GzipLevel)
		if level < 0 {
			level = batch.DefaultLevel
		}
		return validate.Compression{Codec: batch.Gzip, Level: level}
	case "snappy":
		return validate.Compression{Codec: batch.Snappy, Level: batch.DefaultLevel}
	case "lz4":
		return validate.Compression{Codec: batch.LZ4, Level: int(c.LZ4Level)}
	case "zstd":
		return validate.Compression{Codec: batch.Zstd, Level: int(c.ZstdLevel)}
	default:
		return validate.Compression{Producer: true}
	}
}
