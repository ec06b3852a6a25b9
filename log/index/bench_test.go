package index

import (
	"path/filepath"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/files"
)

// benchEntries are those of a segment of 1 GiB, one each 4 KiB.
const benchEntries = 262_144

// benchIndex is an offset index on the machine's disk with an entry each hundred offsets and 4 KiB.
func benchIndex(b *testing.B, pool *files.Pool) *Offset {
	b.Helper()
	x, err := OpenOffset(pool, filepath.Join(b.TempDir(), "i"), 0, 8*benchEntries)
	if err != nil {
		b.Fatal(err)
	}
	for i := int64(1); i <= benchEntries; i++ {
		if err := x.Append(i*100, i*4096); err != nil {
			b.Fatal(err)
		}
	}
	return x
}

// BenchmarkOffsetAppend adds an entry to an offset index, which is emptied when it is full.
func BenchmarkOffsetAppend(b *testing.B) {
	x, err := OpenOffset(files.NewPool(vfs.OS{}, 10), filepath.Join(b.TempDir(), "i"), 0, 8*benchEntries)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := int64(0)
	for b.Loop() {
		if x.IsFull() {
			if err := x.TruncateTo(0); err != nil {
				b.Fatal(err)
			}
			n = 0
		}
		n++
		if err := x.Append(n*100, n*4096); err != nil {
			b.Fatal(err)
		}
	}
	if last := x.Last(); last.Offset != n*100 || last.FilePosition != n*4096 {
		b.Fatal(last, n)
	}
}

// BenchmarkOffsetLookup finds offsets in a full index: one after the other, as a reader does that follows the log, or anywhere.
func BenchmarkOffsetLookup(b *testing.B) {
	x := benchIndex(b, files.NewPool(vfs.OS{}, 10))
	for _, order := range []struct {
		name string
		next func(int64) int64
	}{
		{"sequential", func(i int64) int64 { return (i*16)%(100*benchEntries) + 100 }},
		{"random", func(i int64) int64 { return (i*7_919_317)%(100*benchEntries) + 100 }},
	} {
		b.Run(order.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				target := order.next(i)
				if p, err := x.Lookup(target); err != nil || p.Offset != target/100*100 || p.FilePosition != target/100*4096 {
					b.Fatal(target, p, err)
				}
			}
		})
	}
}

// BenchmarkTimeLookup finds timestamps anywhere in a full time index.
func BenchmarkTimeLookup(b *testing.B) {
	const entries = benchEntries / 2
	x, err := OpenTime(files.NewPool(vfs.OS{}, 10), filepath.Join(b.TempDir(), "t"), 0, 12*entries)
	if err != nil {
		b.Fatal(err)
	}
	for i := int64(1); i <= entries; i++ {
		if err := x.MaybeAppend(i*10, i*100); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		target := (i*7_919_317)%(10*entries) + 10
		if e, err := x.Lookup(target); err != nil || e.TimestampMs != target/10*10 || e.Offset != target/10*100 {
			b.Fatal(target, e, err)
		}
	}
}
