package clean

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestSipHash has the first of the reference implementation's vectors: the key is 00 to 0f, the text 00, 01 and so on.
func TestSipHash(t *testing.T) {
	t.Parallel()
	k := hashKey{0x0706050403020100, 0x0f0e0d0c0b0a0908}
	text := []byte{0, 1}
	for n, want := range []string{"a3817f04ba25a8e66df67214c7550293", "da87c1d86b99af44347659119b22fc45", "8177228da4a45dc7fca38bdef60affe4"} {
		h := k.sum(text[:n])
		got := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, h.h0), h.h1)
		if hex.EncodeToString(got) != want {
			t.Errorf("%d bytes: %x, want %s", n, got, want)
		}
	}
}

// TestOffsetMapModel compares maps of one and of many regions, that grow and that fill up, with Go's.
func TestOffsetMapModel(t *testing.T) {
	t.Parallel()
	const first = 1000
	for _, c := range []struct {
		memory  int64
		keys    int
		records int
		full    bool
	}{{1 << 20, 300, 2000, false}, {8 << 20, 60_000, 200_000, false}, {1 << 20, 60_000, 100_000, true}, {40 << 10, 60_000, 5000, true}} {
		m := NewOffsetMap(c.memory, 0.9, first, first+int64(c.records), [16]byte{byte(c.keys)})
		if used := int64(len(m.slots))*slotBytes + int64(len(m.superseded))*8; used > c.memory {
			t.Errorf("%d bytes of %d", used, c.memory)
		}
		rng := rand.New(rand.NewPCG(uint64(c.records), 1))
		last := map[string]int64{}
		var put []string
		for o := int64(first); o < first+int64(c.records); o++ {
			key := strconv.Itoa(rng.IntN(c.keys))
			if !m.Put([]byte(key), o) {
				break
			}
			last[key] = o
			put = append(put, key)
		}
		if full := len(put) < c.records; full != c.full || m.Len() != len(last) || m.Latest() != first+int64(len(put))-1 {
			t.Fatalf("%+v: full %t with %d of %d keys, latest %d of %d", c, full, m.Len(), len(last), m.Latest(), len(put))
		}
		if c.full && float64(m.Len()) < 0.85*float64(len(m.slots)) {
			t.Errorf("%+v: full with %d keys in %d slots", c, m.Len(), len(m.slots))
		}
		known := 0
		for i, key := range put {
			o := first + int64(i)
			if m.Get([]byte(key)) != last[key] || m.IsLast([]byte(key), o) != (last[key] == o) {
				t.Fatalf("%+v: %s at %d: last at %d, %t, want %d", c, key, o, m.Get([]byte(key)), m.IsLast([]byte(key), o), last[key])
			}
			if m.knows(o) {
				known++
			}
		}
		if !c.full && known != len(put) {
			t.Errorf("%+v: %d of %d offsets are known", c, known, len(put))
		}
		// What lies before is judged by its key, whatever was put.
		if m.IsLast([]byte(put[0]), first-1) || !m.IsLast([]byte("nobody's"), first-1) || m.Get([]byte("nobody's")) != -1 {
			t.Errorf("%+v: a record before the first one", c)
		}
	}
}
