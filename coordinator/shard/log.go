package shard

// Log is a led partition of an internal topic as a shard sees it. internal/server adapts the
// replica's partition to it. All methods may be called from any goroutine.
type Log interface {
	// Append writes one encoded record batch (magic 2) as the leader of leaderEpoch and returns the
	// offsets that its first and last record got. It takes batch and may patch it. It fails with
	// NOT_LEADER_OR_FOLLOWER if the leader epoch has moved on, NOT_ENOUGH_REPLICAS if the ISR is too
	// small; after an error nothing of the batch is in the log.
	Append(batch []byte, leaderEpoch int32) (first, last int64, err error)

	// Read returns whole record batches from the one that holds offset on, as stored (perhaps
	// compressed), at most maxBytes except for a larger first one. It reads up to the log end, not the
	// high watermark: a leader owns what is above it. Empty at the end of the log.
	Read(offset int64, maxBytes int) ([]byte, error)

	// StartOffset is the first offset that can be read, EndOffset the one that the next record gets.
	StartOffset() int64
	EndOffset() int64

	// OnHighWatermark calls f once: with nil when the high watermark has passed offset (so that the
	// record at offset is committed), with an error when leadership of leaderEpoch is lost before. It may
	// call f before it returns; f doesn't block.
	OnHighWatermark(offset int64, leaderEpoch int32, f func(error))
}
