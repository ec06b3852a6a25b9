package wire

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// testFile is a FileRange that counts its releases.
type testFile struct {
	f        *os.File
	position int64
	length   int
	// noFd hides the descriptor.
	noFd     bool
	released *atomic.Int32
}

func (f *testFile) Fd() (uintptr, bool) {
	if f.noFd {
		return 0, false
	}
	return f.f.Fd(), true
}
func (f *testFile) ReadAt(p []byte, position int64) (int, error) { return f.f.ReadAt(p, position) }
func (f *testFile) Position() int64                              { return f.position }
func (f *testFile) Len() int                                     { return f.length }
func (f *testFile) Release()                                     { f.released.Add(1) }

// fileOf is an open file with that content, closed at the end of the test.
func fileOf(t *testing.T, content []byte) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "segment")
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestFileRanges sends replies of bytes and file ranges of all sizes, with and without a descriptor, to
// a client that reads only after the socket is full, and checks every byte and that each range
// is released once.
func TestFileRanges(t *testing.T) {
	content := pattern(3 << 20)
	f := fileOf(t, content)
	eachTransport(t, func(t *testing.T, transport Transport) {
		var taken, released atomic.Int32
		rangeOf := func(position int64, n int, noFd bool) Chunk {
			taken.Add(1)
			return Chunk{File: &testFile{f: f, position: position, length: n, noFd: noFd, released: &released}}
		}
		var want []byte
		for _, p := range []struct{ position, n int }{{5, 100}, {1000, 64 << 10}, {7, 64<<10 + 1}, {1 << 20, 2<<20 - 3}, {9, 0}, {11, 1}} {
			want = append(want, "head"...)
			want = append(want, content[p.position:p.position+p.n]...)
		}
		s := serve(t, transport, func(r *Request) {
			noFd := r.CorrelationID%2 == 1
			var chunks []Chunk
			for _, p := range []struct{ position, n int }{{5, 100}, {1000, 64 << 10}, {7, 64<<10 + 1}, {1 << 20, 2<<20 - 3}, {9, 0}, {11, 1}} {
				chunks = append(chunks, Chunk{Bytes: []byte("head")}, rangeOf(int64(p.position), p.n, noFd))
			}
			r.ReplyChunks(chunks)
		})
		c := s.dial()
		const n = 10
		for i := range n {
			c.send(metadata(int32(i), "file"))
		}
		eventually(t, "the socket is full", func() bool { return len(s.conns.all()) == 1 && s.conns.all()[0].sock.unsent() > 0 })
		for i := range n {
			got := c.receive()
			if id := int32(binary.BigEndian.Uint32(got)); id != int32(i) || !bytes.Equal(got[5:], want) {
				t.Fatalf("reply %d (id %d) of %d bytes, want %d, differs", i, id, len(got)-5, len(want))
			}
		}
		eventually(t, "all ranges are released", func() bool { return released.Load() == taken.Load() })

		// Dies with ranges in the queue and in the handler.
		for i := range n {
			c.send(metadata(int32(i), "file"))
		}
		eventually(t, "the socket is full", func() bool { return s.conns.all()[0].sock.unsent() > 0 })
		c.c.Close()
		eventually(t, "it is gone", func() bool { return s.metrics.Connections.Load() == 0 })
		eventually(t, "all ranges are released", func() bool { return released.Load() == taken.Load() })
	})
}

// TestTruncatedFile checks that a file that is shorter than promised closes the connection rather than
// send a frame that is short.
func TestTruncatedFile(t *testing.T) {
	f := fileOf(t, make([]byte, 100<<10))
	eachTransport(t, func(t *testing.T, transport Transport) {
		for _, noFd := range []bool{false, true} {
			var released atomic.Int32
			s := serve(t, transport, func(r *Request) {
				r.ReplyChunks([]Chunk{{File: &testFile{f: f, length: 200 << 10, noFd: noFd, released: &released}}})
			})
			c := s.dial()
			c.send(metadata(1, "file"))
			if got, err := c.tryReceive(); err == nil {
				t.Errorf("received a whole frame of %d bytes", len(got))
			}
			eventually(t, "the range is released", func() bool { return released.Load() == 1 })
		}
	})
}
