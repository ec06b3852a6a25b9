package shard

import (
	"log/slog"
	"time"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/log/batch"
)

// Config is what all shards of one internal topic share. All fields are needed.
type Config struct {
	// Topic is the internal topic's name, for the log.
	Topic  string
	Clock  clock.Clock
	Logger *slog.Logger
	Codecs *batch.Codecs
	// Codec compresses what is appended (offsets.topic.compression.codec).
	Codec batch.Codec
	// WriteTimeout bounds how long a reply waits for the high watermark (offsets.commit.timeout.ms); the
	// call is answered COORDINATOR_NOT_AVAILABLE then, while what was appended stays.
	WriteTimeout time.Duration
	// MailboxSize bounds the requests that wait in one shard; beyond it they are answered
	// COORDINATOR_NOT_AVAILABLE, which clients retry.
	MailboxSize int
	// MaxBatchBytes bounds batches of records that may be split, before compression.
	MaxBatchBytes int
	// LoadBufferBytes is how much of the log is read at once while loading (offsets.load.buffer.size).
	LoadBufferBytes int
	// MaxDecompressedBytes bounds what one stored batch may inflate to while loading.
	MaxDecompressedBytes int64
	// ConcurrentLoads bounds how many shards of a Directory load at the same time.
	ConcurrentLoads int
}
