package wire

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/buf"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzFrames feeds the same bytes whole and in pieces of a fuzzed length: both must cut the same
// requests, or fail alike, and take no more memory than the bytes justify.
func FuzzFrames(f *testing.F) {
	f.Add(append(metadata(1, "a"), metadata(2, "bc")...), uint8(3))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, uint8(1))
	f.Add(append(produce(1, 1, pattern(3000)), 0, 0, 0, 9, 1), uint8(100))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		cut := func(step int) (frames [][]byte, failed bool) {
			var pool buf.Pool
			c := newConn(connLimits{maxRequestBytes: 1 << 20, queued: 1 << 30, pending: 1}, &pool, &slotPool{}, func(int64) bool { return true })
			for rest := data; len(rest) > 0; {
				n := min(step, len(rest))
				c.Feed(rest[:n], time.Time{})
				rest = rest[n:]
			}
			if pool.InUseBytes() > int64(len(data))*512+firstFrameBytes {
				t.Fatalf("%d bytes held after %d were fed", pool.InUseBytes(), len(data))
			}
			for _, s := range c.order.slots {
				frames = append(frames, bytes.Clone(s.frame.Bytes()))
				s.frame.Release()
			}
			failed = c.failure != nil
			c.DropInput()
			if n := pool.InUseBytes(); n != 0 {
				t.Fatalf("%d bytes leaked", n)
			}
			return frames, failed
		}
		whole, failed := cut(max(1, len(data)))
		pieces, failed2 := cut(int(step) + 1)
		if len(whole) != len(pieces) || failed != failed2 {
			t.Fatalf("%d frames (failed %t) whole, %d (failed %t) in pieces of %d", len(whole), failed, len(pieces), failed2, int(step)+1)
		}
		at := 0
		for i := range whole {
			if !bytes.Equal(whole[i], pieces[i]) || !bytes.Equal(whole[i], data[at+4:at+4+len(whole[i])]) {
				t.Fatalf("frame %d differs", i)
			}
			at += 4 + len(whole[i])
		}
	})
}

// FuzzHeader checks that a header that is accepted lies within its frame and reads back as written.
func FuzzHeader(f *testing.F) {
	f.Add(metadata(1, "a")[4:])
	f.Add([]byte{0, 18, 0, 99, 0, 0, 0, 1, 0xff, 0xff, 0})
	f.Add([]byte{0, 3, 0, 9, 0, 0, 0, 1, 0, 1, 'x', 1, 5, 2, 'h', 'i'})
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, body, err := decodeHeader(frame, nil)
		if err != nil {
			return
		}
		if len(body) > len(frame)-10 {
			t.Fatalf("a body of %d bytes in a frame of %d", len(body), len(frame))
		}
		if h.ClientID != nil && len(*h.ClientID) > len(frame)-10 {
			t.Fatalf("a client id of %d bytes in a frame of %d", len(*h.ClientID), len(frame))
		}
		if h.Key != int16(binary.BigEndian.Uint16(frame)) || !bytes.HasSuffix(frame, body) {
			t.Fatal("the header was misread")
		}
	})
}

// FuzzDecode decodes fuzzed bodies of every API and version: no panic, and no more memory than
// decodeFactor allows.
func FuzzDecode(f *testing.F) {
	for _, a := range APIs(RoleBroker | RoleController) {
		for v := a.Min; v <= a.Max; v++ {
			req := kmsg.RequestForKey(a.Key)
			req.SetVersion(v)
			f.Add(a.Key, v, req.AppendTo(nil))
		}
	}
	var pooled bodies
	f.Add(int16(3), int16(9), append([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, make([]byte, 1000)...))
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		row := rowOf(key)
		if row == nil || version < row.min || version > row.max {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		req, err := decodeBody(key, version, body)
		runtime.ReadMemStats(&after)
		if got, limit := int64(after.TotalAlloc-before.TotalAlloc), 4*(decodeFloor+decodeFactor*int64(len(body))); got > limit {
			t.Fatalf("%s v%d: %d bytes allocated for %d (limit %d), err %v", row.name, version, got, len(body), limit, err)
		}
		if err == nil && req.GetVersion() != version {
			t.Fatalf("decoded at version %d", req.GetVersion())
		}
		if key == keyProduce || key == keyFetch {
			checkPooled(t, &pooled, key, version, body)
		}
	})
}
