package batch

import (
	"strings"
	"testing"
)

// TestHotPathsDoNotAllocate holds what every Produce and every segment scan does: parse a head,
// check and compute the CRC, patch, walk over batches, read plain records, and skim compressed
// ones once the pools are warm. Pools may be emptied meanwhile, which the mean of 50 runs forgives.
func TestHotPathsDoNotAllocate(t *testing.T) {
	codecs := NewCodecs()
	plain := build(t, codecs, DefaultOptions(), strings.Split(strings.Repeat("value ", 100), " ")...)
	two := append(append([]byte{}, plain.Bytes()...), plain.Bytes()...)
	limits := ReadLimits{TotalBytes: 1 << 20, RecordBodyBytes: 1 << 20}
	paths := map[string]func(){
		"ParseHeader": func() {
			if _, err := ParseHeader(two); err != nil {
				t.Fatal(err)
			}
		},
		"CheckCRC": func() {
			if err := plain.CheckCRC(); err != nil {
				t.Fatal(err)
			}
		},
		"patch": func() {
			plain.SetBaseOffset(plain.BaseOffset + 1)
			plain.SetMaxTimestamp(LogAppendTime, plain.MaxTimestamp+1)
		},
		"All": func() {
			for b, err := range All(two) {
				if err != nil || b.SizeBytes() == 0 {
					t.Fatal(err)
				}
			}
		},
	}
	read := func(b *Batch, next func(*RecordReader, *Record) bool) func() {
		return func() {
			var r RecordReader
			if err := r.Open(codecs, b, limits); err != nil {
				t.Fatal(err)
			}
			var rec Record
			n := int32(0)
			for next(&r, &rec) {
				n++
			}
			if r.Err() != nil || n != b.NumRecords {
				t.Fatal(n, r.Err())
			}
			r.Close()
		}
	}
	paths["plain records"] = read(&plain, (*RecordReader).Next)
	for name, f := range paths {
		if n := testing.AllocsPerRun(50, f); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	// Values that shrink, and ones that don't, which are read where they lie.
	noise := make([]string, 16)
	for i := range noise {
		noise[i] = string(incompressible(1000))
	}
	for codec := Gzip; codec <= Zstd; codec++ {
		o := DefaultOptions()
		o.Codec = codec
		for name, values := range map[string][]string{"text": strings.Split(strings.Repeat("value ", 100), " "), "noise": noise} {
			b := build(t, codecs, o, values...)
			f := read(&b, (*RecordReader).Skim)
			f() // Fills the pools.
			if n := testing.AllocsPerRun(50, f); n > allowedAllocs {
				t.Errorf("skim %s, %s: %v allocations", codec, name, n)
			}
		}
	}
}
