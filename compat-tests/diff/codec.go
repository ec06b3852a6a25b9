package diff

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is a compression codec by its number in a batch's attributes.
type Codec int8

// The codecs of Kafka.
const (
	CodecNone Codec = iota
	CodecGzip
	CodecSnappy
	CodecLZ4
	CodecZstd
)

func (c Codec) String() string {
	switch c {
	case CodecNone:
		return "none"
	case CodecGzip:
		return "gzip"
	case CodecSnappy:
		return "snappy"
	case CodecLZ4:
		return "lz4"
	case CodecZstd:
		return "zstd"
	default:
		return fmt.Sprintf("codec-%d", int8(c))
	}
}

// maxPayloadBytes bounds what a fetched batch may unpack to.
const maxPayloadBytes = 64 << 20

// compress panics on a codec it doesn't know: scripts name codecs, input doesn't.
func (c Codec) compress(b []byte) []byte {
	var out bytes.Buffer
	var w io.WriteCloser
	switch c {
	case CodecGzip:
		w = gzip.NewWriter(&out)
	case CodecSnappy:
		return s2.EncodeSnappy(nil, b)
	case CodecLZ4:
		w = lz4.NewWriter(&out)
	case CodecZstd:
		z, err := zstd.NewWriter(&out)
		if err != nil {
			panic(err)
		}
		w = z
	default: // None, and numbers that no codec has.
		return b
	}
	if _, err := w.Write(b); err != nil {
		panic(err) // A buffer takes all.
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func (c Codec) decompress(b []byte) ([]byte, error) {
	var r io.Reader
	switch c {
	case CodecNone:
		return b, nil
	case CodecGzip:
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		r = z
	case CodecSnappy:
		return unsnappy(b)
	case CodecLZ4:
		r = lz4.NewReader(bytes.NewReader(b))
	case CodecZstd:
		z, err := zstd.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	default:
		return nil, errors.New("unknown codec")
	}
	return io.ReadAll(io.LimitReader(r, maxPayloadBytes))
}

// xerialMagic starts the framing that Java's snappy streams have: it, two version numbers, then blocks
// with their sizes.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

func unsnappy(b []byte) ([]byte, error) {
	if !bytes.HasPrefix(b, xerialMagic) {
		return s2.Decode(nil, b)
	}
	if len(b) < 16 {
		return nil, io.ErrUnexpectedEOF
	}
	var out []byte
	for b = b[16:]; len(b) >= 4; {
		n := int(int32(binary.BigEndian.Uint32(b)))
		if b = b[4:]; n < 0 || n > len(b) {
			return nil, io.ErrUnexpectedEOF
		}
		block, err := s2.Decode(nil, b[:n])
		if err != nil {
			return nil, err
		}
		out, b = append(out, block...), b[n:]
	}
	return out, nil
}
