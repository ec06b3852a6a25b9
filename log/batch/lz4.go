package batch

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
)

// The LZ4 frame format (v1.6.x), as far as Kafka's clients use it (KIP-57): magic, flags,
// block descriptor, perhaps a content size, a checksum byte; then blocks of little-endian
// uint32 length (top bit: stored plain) and data, perhaps with a checksum; a zero length ends
// the frame, perhaps with a checksum of the content, which must be there but is checked by nobody. Blocks must be
// independent.
const (
	lz4Magic = 0x184D2204

	lz4FlagVersion      = 0x40 // of lz4FlagVersionMask
	lz4FlagVersionMask  = 0xC0
	lz4FlagIndependent  = 0x20
	lz4FlagBlockSum     = 0x10
	lz4FlagContentSize  = 0x08
	lz4FlagContentSum   = 0x04
	lz4FlagReserved     = 0x03
	lz4BlockReserved    = 0x8F
	lz4BlockPlain       = 1 << 31
	lz4WriteBlockBytes  = 64 << 10
	lz4WriteDescriptor  = 0x40 // blocks of 64 KiB
	lz4DefaultLevel     = 9    // Kafka's name for the fast compressor
	lz4MaxBlockSizeCode = 7    // 4 MiB
	lz4MinBlockSizeCode = 4    // 64 KiB
)

var (
	errLZ4Truncated  = errors.New("batch: lz4 frame ends prematurely")
	errLZ4Magic      = errors.New("batch: not an lz4 frame")
	errLZ4Descriptor = errors.New("batch: lz4 frame descriptor unsupported or corrupt")
	errLZ4Block      = errors.New("batch: lz4 block corrupt")
)

// lz4Reader reads one LZ4 frame.
type lz4Reader struct {
	src        []byte
	blockSum   bool
	contentSum bool
	maxBlock   int
	buf        []byte // decompressed block, of maxBlock bytes
	block      []byte // unread; aliases buf or src
	finished   bool
}

// openLZ4 starts to read a frame. Kafka computed the descriptor's checksum wrongly in magic 0,
// so that it isn't checked there (anyChecksum).
func (c *Codecs) openLZ4(src []byte, anyChecksum bool) (decompressor, error) {
	r, ok := c.lz4Readers.Get().(*lz4Reader)
	if !ok {
		r = new(lz4Reader)
	}
	*r = lz4Reader{src: src, buf: r.buf}
	if err := r.readHead(anyChecksum); err != nil {
		r.release(c)
		return nil, decompressError(err)
	}
	return r, nil
}

func (r *lz4Reader) readHead(anyChecksum bool) error {
	if len(r.src) < 7 {
		return errLZ4Truncated
	}
	if binary.LittleEndian.Uint32(r.src) != lz4Magic {
		return errLZ4Magic
	}
	flags, descriptor := r.src[4], r.src[5]
	code := descriptor >> 4 & 7
	if flags&lz4FlagVersionMask != lz4FlagVersion || flags&lz4FlagReserved != 0 ||
		flags&lz4FlagIndependent == 0 || descriptor&lz4BlockReserved != 0 ||
		code < lz4MinBlockSizeCode || code > lz4MaxBlockSizeCode {
		return errLZ4Descriptor
	}
	size := 6
	if flags&lz4FlagContentSize != 0 {
		size += 8
	}
	if len(r.src) < size+1 {
		return errLZ4Truncated
	}
	if !anyChecksum && r.src[size] != byte(xxh32(r.src[4:size])>>8) {
		return errLZ4Descriptor
	}
	r.blockSum, r.contentSum = flags&lz4FlagBlockSum != 0, flags&lz4FlagContentSum != 0
	r.maxBlock = 1 << (2*code + 8)
	r.src = r.src[size+1:]
	return nil
}

// Read implements io.Reader.
func (r *lz4Reader) Read(p []byte) (int, error) {
	for len(r.block) == 0 {
		if r.finished {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, decompressError(err)
		}
	}
	n := copy(p, r.block)
	r.block = r.block[n:]
	return n, nil
}

// next decompresses the next block, or sees the end mark.
func (r *lz4Reader) next() error {
	data, plain, err := r.take()
	switch {
	case errors.Is(err, io.EOF):
		r.finished = true
		return nil
	case err != nil:
		return err
	case plain:
		r.block = data
		return nil
	}
	// A block of the claimed 4 MiB can't be allocated for by a few bytes: LZ4 makes at most
	// 255 bytes out of one.
	if want := min(r.maxBlock, 255*len(data)+64); cap(r.buf) < want {
		r.buf = make([]byte, want)
	}
	n, err := lz4.UncompressBlock(data, r.buf[:min(cap(r.buf), r.maxBlock)])
	if err != nil {
		return err
	}
	r.block = r.buf[:n]
	return nil
}

// take consumes the next block as it is, plain or compressed; io.EOF is the end mark.
func (r *lz4Reader) take() (data []byte, plain bool, err error) {
	if len(r.src) < 4 {
		return nil, false, errLZ4Truncated
	}
	head := binary.LittleEndian.Uint32(r.src)
	r.src = r.src[4:]
	size, plain := int(head&^lz4BlockPlain), head&lz4BlockPlain != 0
	if size == 0 {
		if r.contentSum && len(r.src) < 4 {
			return nil, false, errLZ4Truncated
		}
		return nil, false, io.EOF
	}
	if size > r.maxBlock {
		return nil, false, errLZ4Block
	}
	if size > len(r.src) {
		return nil, false, errLZ4Truncated
	}
	data = r.src[:size]
	r.src = r.src[size:]
	if r.blockSum {
		if len(r.src) < 4 {
			return nil, false, errLZ4Truncated
		}
		if binary.LittleEndian.Uint32(r.src) != xxh32(data) {
			return nil, false, errLZ4Block
		}
		r.src = r.src[4:]
	}
	return data, plain, nil
}

func (r *lz4Reader) release(c *Codecs) {
	r.src, r.block = nil, nil
	if cap(r.buf) <= maxScratchBytes {
		c.lz4Readers.Put(r)
	}
}

// lz4BlockCompressor compresses one block; 0 says that it didn't fit dst.
type lz4BlockCompressor interface {
	CompressBlock(src, dst []byte) (int, error)
}

func (c *Codecs) compressLZ4(dst []byte, level int, src []byte) ([]byte, error) {
	var compressor lz4BlockCompressor
	switch {
	case level == DefaultLevel || level == lz4DefaultLevel:
		fast, ok := c.lz4Fast.Get().(*lz4.Compressor)
		if !ok {
			fast = new(lz4.Compressor)
		}
		defer c.lz4Fast.Put(fast)
		compressor = fast
	case level >= 1 && level <= 17:
		high, ok := c.lz4High.Get().(*lz4.CompressorHC)
		if !ok {
			high = new(lz4.CompressorHC)
		}
		defer c.lz4High.Put(high)
		high.Level = lz4.CompressionLevel(1 << (8 + min(level, 9)))
		compressor = high
	default:
		return dst, kerror.New(kerr.InvalidConfig, "lz4 level %d is out of range", level)
	}
	dst = binary.LittleEndian.AppendUint32(dst, lz4Magic)
	dst = append(dst, lz4FlagVersion|lz4FlagIndependent, lz4WriteDescriptor)
	dst = append(dst, byte(xxh32(dst[len(dst)-2:])>>8))
	for len(src) > 0 {
		block := src[:min(len(src), lz4WriteBlockBytes)]
		src = src[len(block):]
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		dst = append(dst, block...) // Also makes the room to compress into.
		n, err := compressor.CompressBlock(block, dst[at+4:])
		if err != nil || n == 0 || n >= len(block) { // It didn't fit: store plain.
			copy(dst[at+4:], block)
			binary.LittleEndian.PutUint32(dst[at:], uint32(len(block))|lz4BlockPlain)
			continue
		}
		binary.LittleEndian.PutUint32(dst[at:], uint32(n))
		dst = dst[:at+4+n]
	}
	return append(dst, 0, 0, 0, 0), nil
}
