package controller

import (
	"encoding/binary"
	"fmt"
	"io"
)

// After its welcome a stream to an observer carries frames, all numbers big-endian:
//
//	type      1 byte
//	length    uint32, of what follows
//
// From the active controller:
//
//	S snapshot    an image as in a snapshot file (snapshot.go), in pieces; the last one is empty. It
//	              replaces what the observer has.
//	E entry       base int64, epoch int32, and a raft entry (entry.go) that takes the image at offset base on
//	K keep-alive  offset int64 of the image that the frames before led to
//
// From the observer:
//
//	A applied     offset int64 of its image; after entries and snapshots, and for each keep-alive
const (
	frameSnapshot = 'S'
	frameEntry    = 'E'
	frameAlive    = 'K'
	frameApplied  = 'A'

	frameHead  = 5
	entryHead  = 12
	offsetSize = 8
	// snapshotPiece is how much of a snapshot is in a frame, in bytes.
	snapshotPiece = 256 << 10
	// maxFrame bounds a frame; raft's entries are far smaller.
	maxFrame = 64 << 20
)

func appendFrame(dst []byte, kind byte, size int) []byte {
	return binary.BigEndian.AppendUint32(append(dst, kind), uint32(size))
}

func appendOffsetFrame(dst []byte, kind byte, offset int64) []byte {
	return binary.BigEndian.AppendUint64(appendFrame(dst, kind, offsetSize), uint64(offset))
}

func appendEntryFrame(dst []byte, e feedEntry) []byte {
	dst = appendFrame(dst, frameEntry, entryHead+len(e.data))
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.base))
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.epoch))
	return append(dst, e.data...)
}

// readFrame reads one frame; most bounds its length.
func readFrame(r io.Reader, most int) (kind byte, body []byte, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if int64(n) > int64(most) {
		return 0, nil, fmt.Errorf("frame %q of %d bytes", head[0], n)
	}
	body = make([]byte, n)
	_, err = io.ReadFull(r, body)
	return head[0], body, err
}

func readOffset(body []byte) (int64, error) {
	if len(body) != offsetSize {
		return 0, errEntry
	}
	return int64(binary.BigEndian.Uint64(body)), nil
}

// snapshotWriter puts what is written to it into snapshot frames.
type snapshotWriter struct {
	to io.Writer
	// sent is told before every frame.
	sent func()
	buf  []byte
}

// Write implements io.Writer.
func (w *snapshotWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		piece := p[:min(len(p), snapshotPiece)]
		p = p[len(piece):]
		w.sent()
		w.buf = append(appendFrame(w.buf[:0], frameSnapshot, len(piece)), piece...)
		if _, err := w.to.Write(w.buf); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// end marks the end of the snapshot.
func (w *snapshotWriter) end() error {
	_, err := w.to.Write(appendFrame(w.buf[:0], frameSnapshot, 0))
	return err
}

// snapshotReader reads a snapshot out of its frames, the first of which was read already.
type snapshotReader struct {
	from io.Reader
	// read is told after every frame.
	read func()
	body []byte
	done bool
}

// Read implements io.Reader.
func (r *snapshotReader) Read(p []byte) (int, error) {
	for len(r.body) == 0 {
		if r.done {
			return 0, io.EOF
		}
		kind, body, err := readFrame(r.from, snapshotPiece)
		if err != nil {
			return 0, err
		}
		if kind != frameSnapshot {
			return 0, fmt.Errorf("frame %q within a snapshot", kind)
		}
		r.read()
		r.body, r.done = body, len(body) == 0
	}
	n := copy(p, r.body)
	r.body = r.body[n:]
	return n, nil
}
