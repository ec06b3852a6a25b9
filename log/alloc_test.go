//go:build !race

// Under the race detector pools lose what they are given, so allocations mean nothing there.

package commitlog

import (
	"testing"

	"github.com/ottla/ottla/log/batch"
)

// TestSteadyStateAllocations: an append allocates nothing, a read one slice header, at the tail and
// in the middle of a segment.
func TestSteadyStateAllocations(t *testing.T) {
	l := diskLog(t, nil)
	b := makeBatch(batch.DefaultOptions(), 0, 10, 100, 1000)
	add := func() {
		clear(b[:8]) // The base offset that the last append patched in.
		if _, err := l.Append(b, AppendOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2000 {
		add()
	}
	if n := testing.AllocsPerRun(2000, add); n > 0 {
		t.Errorf("%v allocations an append, want none", n)
	}
	read := func(offset int64) func() {
		return func() {
			info, err := l.Read(ReadOptions{Offset: offset, MaxBytes: 1000, MinOneBatch: true, UpperBound: NoLimit})
			if err != nil || info.Records == nil {
				t.Fatal(info, err)
			}
			info.Records.Release()
		}
	}
	if n := testing.AllocsPerRun(1000, read(l.LogEndOffset()-10)); n > 1 {
		t.Errorf("%v allocations a read at the end, want 1", n)
	}
	if n := testing.AllocsPerRun(1000, read(9000)); n > 1 {
		t.Errorf("%v allocations a read in the middle, want 1", n)
	}
}
