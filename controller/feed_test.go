package controller

import (
	"bytes"
	"io"
	"testing"

	"pgregory.net/rapid"
)

// TestFeed compares the feed with a list of all entries: what follows an offset is what was appended, whole and in order,
// or is said to be gone; it is bounded; waiters are woken by every change.
func TestFeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFeed()
		var all []feedEntry
		last, index := int64(-1), uint64(1)
		kept := 0 // position in all of the oldest that may still be there
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			_, moved, _ := f.after(last, 1)
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				f.reset()
				last += 5
				kept = len(all)
			default:
				n := rapid.Int64Range(1, 3).Draw(t, "records")
				index += rapid.Uint64Range(1, 3).Draw(t, "gap")
				data := make([]byte, rapid.SampledFrom([]int{10, 1000, 3 << 20}).Draw(t, "size"))
				e := feedEntry{index: index, base: last, last: last + n, data: data}
				last += n
				f.append(e)
				all = append(all, e)
			}
			select {
			case <-moved:
			default:
				t.Fatal("a waiter wasn't woken")
			}
			if f.mu.bytes > feedBytes && len(f.mu.entries) > 1 || len(f.mu.entries) > feedEntries {
				t.Fatalf("%d entries of %d bytes are kept", len(f.mu.entries), f.mu.bytes)
			}
		}
		from := rapid.Int64Range(-1, last+1).Draw(t, "from")
		most := rapid.SampledFrom([]int{0, 500, 1 << 20, 1 << 30}).Draw(t, "bytes")
		list, _, ok := f.after(from, most)
		start := -1
		for i := kept; i < len(all); i++ {
			if all[i].base == from {
				start = i
			}
		}
		switch {
		case ok && len(list) > 0:
			size := 0
			for i, e := range list {
				if start < 0 || e.index != all[start+i].index || e.last != all[start+i].last {
					t.Fatalf("entry %d after %d is %d to %d", i, from, e.base, e.last)
				}
				size += len(e.data)
			}
			if size > most && len(list) > 1 {
				t.Fatalf("%d bytes for %d", size, most)
			}
		case ok && from < last && kept < len(all):
			t.Fatalf("nothing follows %d, the last is %d", from, last)
		case !ok && start >= 0 && len(f.mu.entries) == len(all)-kept:
			t.Fatalf("%d is said to be gone", from)
		}
		at := rapid.Uint64Range(1, index+2).Draw(t, "index")
		want := last
		if n := len(f.mu.entries); n > 0 && at < f.mu.entries[n-1].index {
			want = f.mu.entries[0].base
			for _, e := range f.mu.entries {
				if e.index <= at {
					want = e.last
				}
			}
		}
		if got := f.offsetAt(at, last); got != want {
			t.Fatalf("index %d is at offset %d, want %d", at, got, want)
		}
	})
}

// TestSnapshotFrames takes bytes of many lengths through snapshot frames.
func TestSnapshotFrames(t *testing.T) {
	for _, n := range []int{0, 1, snapshotPiece - 1, snapshotPiece, snapshotPiece + 1, 3*snapshotPiece + 7} {
		want := bytes.Repeat([]byte{7, 8, 9}, n/3+1)[:n]
		var wire bytes.Buffer
		w := &snapshotWriter{to: &wire, sent: func() {}}
		if _, err := w.Write(want); err != nil {
			t.Fatal(err)
		}
		if err := w.end(); err != nil {
			t.Fatal(err)
		}
		wire.WriteString("next")
		all := bytes.Clone(wire.Bytes())
		got, err := io.ReadAll(&snapshotReader{from: &wire, read: func() {}})
		if err != nil || !bytes.Equal(got, want) || wire.String() != "next" {
			t.Errorf("%d bytes came back as %d, %v; %q follows", n, len(got), err, wire.String())
		}
		if _, err := io.ReadAll(&snapshotReader{from: bytes.NewReader(all[:len(all)-5]), read: func() {}}); err == nil {
			t.Errorf("%d bytes: a snapshot without its end was read", n)
		}
	}
}

// FuzzStreams reads greetings and frames out of anything: no panic, no allocation by a length that isn't backed.
func FuzzStreams(f *testing.F) {
	var b bytes.Buffer
	if err := writeHello(&b, streamObserve, hello{Server: "1", Offset: 4}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(appendEntryFrame(nil, feedEntry{base: 1, epoch: 2, data: []byte{1, 2}}))
	f.Add(appendFrame(nil, frameSnapshot, 1<<31-1))
	f.Fuzz(func(t *testing.T, in []byte) {
		if kind, h, err := readHello(bytes.NewReader(in)); err == nil {
			var out bytes.Buffer
			if err := writeHello(&out, kind, h); err != nil {
				t.Fatal(err)
			}
			again, h2, err := readHello(&out)
			h.Version = streamVersion
			if err != nil || again != kind || h2 != h {
				t.Fatalf("%+v came back as %+v, %v", h, h2, err)
			}
		}
		r := bytes.NewReader(in)
		for {
			kind, body, err := readFrame(r, 1<<20)
			if err != nil {
				break
			}
			if at := len(in) - r.Len() - len(body) - frameHead; !bytes.Equal(append(appendFrame(nil, kind, len(body)), body...), in[at:len(in)-r.Len()]) {
				t.Fatalf("a frame at %d came back otherwise", at)
			}
		}
		if _, err := io.ReadAll(&snapshotReader{from: bytes.NewReader(in), read: func() {}}); err == nil && len(in) == 0 {
			t.Fatal("nothing was read as a snapshot")
		}
	})
}
