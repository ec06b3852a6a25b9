package controller

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
)

// A snapshot is an image as records, with the position it stands for (all numbers big-endian):
//
//	magic     8 bytes, "ottlaimg"
//	version   1 byte
//	offset    int64, the image's offset
//	epoch     int32, the image's epoch
//	records   until the end: length (unsigned varint, in bytes) and framed record
//
// Raft's snapshot store adds a checksum.
const (
	snapshotMagic      = "ottlaimg"
	snapshotVersion    = 1
	snapshotHeaderSize = len(snapshotMagic) + 1 + 8 + 4
	// maxSnapshotRecord bounds what is read into memory for one record, in bytes.
	maxSnapshotRecord = 16 << 20
)

// snapshot implements raft.FSMSnapshot.
type snapshot struct{ image *image.Image }

// Persist implements raft.FSMSnapshot.
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	if err := writeSnapshot(sink, s.image); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (s *snapshot) Release() {}

func writeSnapshot(to io.Writer, m *image.Image) error {
	w := bufio.NewWriterSize(to, 64<<10)
	header := append([]byte(snapshotMagic), snapshotVersion)
	header = binary.BigEndian.AppendUint64(header, uint64(m.Offset()))
	header = binary.BigEndian.AppendUint32(header, uint32(m.Epoch()))
	if _, err := w.Write(header); err != nil {
		return err
	}
	var out, buf []byte
	for r := range m.Records() {
		out, buf = appendRecord(out[:0], buf, r)
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	return w.Flush()
}

func readSnapshot(from io.Reader) (*image.Image, error) {
	r := bufio.NewReaderSize(from, 64<<10)
	var header [snapshotHeaderSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, fmt.Errorf("metadata snapshot: %w", err)
	}
	n := len(snapshotMagic)
	if string(header[:n]) != snapshotMagic || header[n] != snapshotVersion {
		return nil, errors.New("metadata snapshot: unknown format")
	}
	offset := int64(binary.BigEndian.Uint64(header[n+1:]))
	epoch := int32(binary.BigEndian.Uint32(header[n+9:]))
	return image.Restore(offset, epoch, func(yield func(metadata.Record, error) bool) {
		for {
			rec, err := readSnapshotRecord(r)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	})
}

// readSnapshotRecord returns io.EOF only at the end of the records.
func readSnapshotRecord(r *bufio.Reader) (metadata.Record, error) {
	size, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, err
	}
	if size > maxSnapshotRecord {
		return nil, fmt.Errorf("metadata snapshot: record of %d bytes", size)
	}
	buf := make([]byte, size)
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, fmt.Errorf("metadata snapshot: %w", errors.Join(io.ErrUnexpectedEOF, errEntry))
	}
	rec, _, err := metadata.Read(buf)
	return rec, err
}
