package buf

import (
	"bytes"
	"sync"
	"testing"
)

// TestGetSizes checks that a buffer has the asked length in the smallest class, at each border.
func TestGetSizes(t *testing.T) {
	var p Pool
	for _, c := range []struct{ n, capacity int }{
		{0, 512}, {1, 512}, {512, 512}, {513, 1024}, {1024, 1024}, {65536, 65536}, {65537, 131072},
		{MaxPooled - 1, MaxPooled}, {MaxPooled, MaxPooled}, {MaxPooled + 1, MaxPooled + 1},
	} {
		b := p.Get(c.n)
		if len(b.Bytes()) != c.n || len(b.Full()) != c.capacity {
			t.Errorf("Get(%d): length %d capacity %d, want capacity %d", c.n, len(b.Bytes()), len(b.Full()), c.capacity)
		}
		if got := p.InUseBytes(); got != int64(c.capacity) {
			t.Errorf("Get(%d): %d bytes in use, want %d", c.n, got, c.capacity)
		}
		b.Release()
	}
	if got := p.InUseBytes(); got != 0 {
		t.Errorf("%d bytes in use after all releases", got)
	}
}

// TestRetainKeepsMemory checks that memory is given back with the last count only.
func TestRetainKeepsMemory(t *testing.T) {
	p := Pool{Poison: true}
	b := p.Get(4)
	copy(b.Bytes(), "abcd")
	mem := b.Bytes()
	b.Retain()
	b.Release()
	if string(mem) != "abcd" {
		t.Fatalf("memory reads %q while a count is held", mem)
	}
	b.Release()
	if !bytes.Equal(mem, []byte{0xdd, 0xdd, 0xdd, 0xdd}) {
		t.Fatalf("memory reads %x after the last release, want poison", mem)
	}
}

// TestMisuse checks that broken counts are caught.
func TestMisuse(t *testing.T) {
	mustPanic := func(what string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s did not panic", what)
			}
		}()
		f()
	}
	var p Pool
	b := p.Get(MaxPooled + 1)
	b.Release()
	mustPanic("second release", b.Release)
	c := p.Get(MaxPooled + 1)
	c.Release()
	mustPanic("retain after release", c.Retain)
	mustPanic("negative length", func() { p.Get(-1) })
	mustPanic("length beyond memory", func() { p.Get(1).SetLen(513) })
}

// TestConcurrent has goroutines write and verify their own pattern, so that a buffer handed out
// twice shows (and shows as a race under the detector).
func TestConcurrent(t *testing.T) {
	var p Pool
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				b := p.Get(1 + i%3000)
				for j := range b.Bytes() {
					b.Bytes()[j] = byte(g)
				}
				if bytes.Count(b.Bytes(), []byte{byte(g)}) != len(b.Bytes()) {
					t.Error("buffer shared between holders")
				}
				b.Release()
			}
		})
	}
	wg.Wait()
	if p.InUseBytes() != 0 {
		t.Errorf("%d bytes in use at the end", p.InUseBytes())
	}
}

// TestNoAllocation checks that a warm pool hands out memory without allocating.
func TestNoAllocation(t *testing.T) {
	var p Pool
	if n := testing.AllocsPerRun(1000, func() { p.Get(1000).Release() }); n > 0.1 {
		t.Errorf("%v allocations a Get", n)
	}
}
