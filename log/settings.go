package commitlog

import (
	"sync"

	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/validate"
)

// settings is a Config with what is derived from it.
type settings struct {
	Config
	// params has the fields of validate.Params that depend on nothing else.
	params validate.Params
}

// maxSharedSettings is how many different configurations are remembered.
const maxSharedSettings = 256

// sharedSettings has logs with the same configuration share their settings: thousands of logs that take turns would need caches for
// all of them otherwise.
type sharedSettings struct {
	mu  sync.Mutex
	all map[Config]*settings
}

// of returns the settings of a configuration, which nobody changes.
func (s *sharedSettings) of(c Config) *settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.all[c]; known != nil {
		return known
	}
	if s.all == nil || len(s.all) >= maxSharedSettings {
		s.all = map[Config]*settings{}
	}
	s.all[c] = newSettings(c)
	return s.all[c]
}

func newSettings(c Config) *settings {
	timestamps := batch.CreateTime
	if c.LogAppendTime {
		timestamps = batch.LogAppendTime
	}
	return &settings{
		Config: c,
		params: validate.Params{
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
