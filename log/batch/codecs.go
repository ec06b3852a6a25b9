package batch

// Codecs pools compressors and decompressors. One is made for a whole server; it is safe for
// concurrent use.
type Codecs struct{}

// NewCodecs returns empty pools.
func NewCodecs() *Codecs { return &Codecs{} }

// DefaultLevel asks for a codec's own default level.
const DefaultLevel = -1 << 31

// Compress appends src, compressed as Kafka's clients expect the codec, to dst.
func (c *Codecs) Compress(dst []byte, codec Codec, level int, src []byte) ([]byte, error) {
	panic("unwritten")
}

// Decompress appends the decompressed src to dst. More than maxBytes is CORRUPT_MESSAGE.
func (c *Codecs) Decompress(dst []byte, codec Codec, src []byte, maxBytes int64) ([]byte, error) {
	panic("unwritten")
}
