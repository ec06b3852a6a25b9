package index

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/files"
	"pgregory.net/rapid"
)

const path = "/i"

func put(t testing.TB, fs vfs.FS, content []byte) {
	t.Helper()
	f, err := fs.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, fs vfs.FS) []byte {
	t.Helper()
	f, err := fs.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && size > 0 {
		t.Fatal(err)
	}
	return b
}

// TestOffsetModel compares an offset index with a slice, through appends, truncations, flushes, seals
// and new starts.
func TestOffsetModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const base = 1000
		fs := vfs.NewMem()
		maxIdle := rapid.IntRange(0, 1).Draw(t, "maxIdle") // Without idle files no block stays in memory.
		open := func() *Offset {
			x, err := OpenOffset(files.NewPool(fs, maxIdle), path, base, 8*1300)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		x := open()
		var model []Position
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				for range rapid.IntRange(1, 400).Draw(t, "n") {
					p := Position{Offset: base + 1, FilePosition: 1}
					if n := len(model); n > 0 {
						p = Position{model[n-1].Offset + rapid.Int64Range(1, 5).Draw(t, "step"), model[n-1].FilePosition + 7}
					}
					err := x.Append(p.Offset, p.FilePosition)
					if full := len(model) == 1300; full != errors.Is(err, ErrFull) || !full && err != nil {
						t.Fatalf("append to %d entries: %v", len(model), err)
					} else if !full {
						model = append(model, p)
					}
				}
			},
			"truncate": func(t *rapid.T) {
				target := rapid.Int64Range(base-2, base+2000).Draw(t, "target")
				if err := x.TruncateTo(target); err != nil {
					t.Fatal(err)
				}
				model = slices.DeleteFunc(model, func(p Position) bool { return p.Offset >= target })
			},
			"flush": func(t *rapid.T) {
				if err := x.Flush(); err != nil {
					t.Fatal(err)
				}
			},
			"flush if begun": func(t *rapid.T) {
				if err := x.FlushBegun(); err != nil {
					t.Fatal(err)
				}
			},
			"reset": func(t *rapid.T) {
				if err := x.Reset(); err != nil {
					t.Fatal(err)
				}
				model = nil
			},
			"seal": func(t *rapid.T) {
				if err := x.Seal(); err != nil {
					t.Fatal(err)
				}
			},
			"open": func(t *rapid.T) {
				if err := x.Seal(); err != nil {
					t.Fatal(err)
				}
				x = open()
			},
			"": func(t *rapid.T) {
				if x.Entries() != len(model) || x.IsFull() != (len(model) == 1300) {
					t.Fatalf("%d entries, want %d", x.Entries(), len(model))
				}
				if err := x.Check(1 << 30); err != nil {
					t.Fatal(err)
				}
				var want Position
				for range 4 { // Where a search begins depends on where the last one ended.
					target := rapid.Int64Range(base-2, x.Last().Offset+3).Draw(t, "target")
					want = Position{Offset: base}
					for _, p := range model {
						if p.Offset <= target {
							want = p
						}
					}
					got, err := x.Lookup(target)
					if err != nil || got != want {
						t.Fatalf("lookup of %d: %+v, %v, want %+v", target, got, err, want)
					}
				}
				bound := rapid.Int64Range(0, 9000).Draw(t, "position")
				i := slices.IndexFunc(model, func(p Position) bool { return p.FilePosition >= bound && p.Offset > want.Offset })
				upper, ok, err := x.UpperBound(want, bound)
				if err != nil || ok != (i >= 0) || ok && upper != model[i] {
					t.Fatalf("upper bound from %+v at %d: %+v %t %v, want %d", want, bound, upper, ok, err, i)
				}
			},
		})
		if err := x.Seal(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestTime: lookups, entries that are left out, truncation by offset, fullness.
func TestTime(t *testing.T) {
	fs := vfs.NewMem()
	x, err := OpenTime(files.NewPool(fs, 10), path, 100, 12*4)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := x.Lookup(5); err != nil || got != (Timestamp{-1, 100}) || x.Last() != got {
		t.Errorf("lookup in an empty index: %+v %v", got, err)
	}
	for _, e := range []Timestamp{{10, 105}, {10, 106}, {9, 107}, {20, 110}, {-1, 111}, {30, 120}} {
		if x.IsFull() {
			t.Error("full too early")
		}
		if err := x.MaybeAppend(e.TimestampMs, e.Offset); err != nil {
			t.Fatal(err)
		}
	}
	if !x.IsFull() || x.Entries() != 3 {
		t.Errorf("%d entries, full %t", x.Entries(), x.IsFull())
	}
	for target, want := range map[int64]Timestamp{9: {-1, 100}, 10: {10, 105}, 29: {20, 110}, 99: {30, 120}} {
		if got, err := x.Lookup(target); err != nil || got != want {
			t.Errorf("lookup of %d: %+v %v, want %+v", target, got, err, want)
		}
	}
	if err := x.TruncateTo(110); err != nil || x.Last() != (Timestamp{10, 105}) {
		t.Errorf("after truncation: %+v %v", x.Last(), err)
	}
	if err := x.MaybeAppend(11, 1<<40); err == nil {
		t.Error("an offset that doesn't fit was taken")
	}
	if err := x.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := get(t, fs), []byte{0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 5}; !slices.Equal(got, want) {
		t.Errorf("file %x, want %x", got, want)
	}
	if err := x.Seal(); err != nil {
		t.Fatal(err)
	}
}

// TestTxn: collection across the bounds of a fetch, truncation, and the file's bytes.
func TestTxn(t *testing.T) {
	fs := vfs.NewMem()
	x := NewTxn(fs, path)
	txns := []AbortedTxn{{7, 10, 20, 15}, {8, 15, 30, 31}, {7, 40, 50, 51}}
	for _, a := range txns {
		if err := x.Append(a); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Append(txns[0]); err == nil {
		t.Error("a transaction that ended earlier was taken")
	}
	for _, tc := range []struct {
		from, upper int64
		want        []AbortedTxn
		complete    bool
	}{
		{0, 10, nil, true}, {0, 12, txns[:1], true}, {0, 16, txns[:2], true}, {21, 60, txns[1:], false}, {51, 60, nil, false},
	} {
		got, complete, err := NewTxn(fs, path).Collect(nil, tc.from, tc.upper)
		if err != nil || !slices.Equal(got, tc.want) || complete != tc.complete {
			t.Errorf("[%d, %d): %v complete=%t %v", tc.from, tc.upper, got, complete, err)
		}
	}
	if err := errors.Join(x.Flush(), x.TruncateTo(30)); err != nil {
		t.Fatal(err)
	}
	if n := len(get(t, fs)); n != txnEntrySize {
		t.Errorf("%d bytes after truncation, want %d", n, txnEntrySize)
	}
}

// TestCorruptFiles: what can't be an index is ErrCorrupt when it is opened or checked.
func TestCorruptFiles(t *testing.T) {
	fs := vfs.NewMem()
	put(t, fs, make([]byte, 13))
	if _, err := OpenOffset(files.NewPool(fs, 10), path, 0, 1000); !errors.Is(err, ErrCorrupt) {
		t.Errorf("odd size: %v", err)
	}
	put(t, fs, append([]byte{0, 0, 0, 5, 0, 0, 0, 9}, make([]byte, 80)...))
	if _, err := OpenOffset(files.NewPool(fs, 10), path, 0, 1000); !errors.Is(err, ErrCorrupt) {
		t.Errorf("zeros at the end: %v", err)
	}
	put(t, fs, make([]byte, 24))
	if _, err := OpenTime(files.NewPool(fs, 10), path, 0, 1000); !errors.Is(err, ErrCorrupt) {
		t.Errorf("only zeros: %v", err)
	}
	put(t, fs, []byte{0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 4, 0, 0, 0, 10})
	x, err := OpenOffset(files.NewPool(fs, 10), path, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Check(100); !errors.Is(err, ErrCorrupt) {
		t.Errorf("falling offsets: %v", err)
	}
	if err := x.Seal(); err != nil {
		t.Fatal(err)
	}
	put(t, fs, make([]byte, 35))
	if err := NewTxn(fs, path).Check(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("transaction index of odd size: %v", err)
	}
}

// FuzzOffsetIndex: a file that opens and passes the check answers every lookup with an entry at or
// below the target, and truncation leaves it consistent.
func FuzzOffsetIndex(f *testing.F) {
	f.Add([]byte{0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 6, 0, 0, 0, 10}, int64(5))
	f.Fuzz(func(t *testing.T, b []byte, target int64) {
		fs := vfs.NewMem()
		put(t, fs, b)
		x, err := OpenOffset(files.NewPool(fs, 10), path, 0, 1<<20)
		if err != nil {
			return
		}
		ok := x.Check(1<<31) == nil
		p, err := x.Lookup(target)
		if err != nil {
			t.Fatal(err)
		}
		if ok && target >= 0 && p.Offset > target {
			t.Errorf("lookup of %d: %+v", target, p)
		}
		if err := x.TruncateTo(target); err != nil {
			t.Fatal(err)
		}
		if ok && (x.Check(1<<31) != nil || x.Entries() > 0 && x.Last().Offset >= target) {
			t.Errorf("after truncation to %d: %+v", target, x.Last())
		}
		if err := x.Seal(); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzTimeIndex is FuzzOffsetIndex for the time index.
func FuzzTimeIndex(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 6}, int64(9))
	f.Fuzz(func(t *testing.T, b []byte, target int64) {
		fs := vfs.NewMem()
		put(t, fs, b)
		x, err := OpenTime(files.NewPool(fs, 10), path, 0, 1<<20)
		if err != nil {
			return
		}
		ok := x.Check() == nil
		p, err := x.Lookup(target)
		if err != nil {
			t.Fatal(err)
		}
		if ok && target >= 0 && p.TimestampMs > target {
			t.Errorf("lookup of %d: %+v", target, p)
		}
		if err := x.TruncateTo(target); err != nil {
			t.Fatal(err)
		}
		if ok && (x.Check() != nil || x.Entries() > 0 && x.Last().Offset >= target) {
			t.Errorf("after truncation to %d: %+v", target, x.Last())
		}
		if err := x.Seal(); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzTxnIndex: what is parsed ends in growing order.
func FuzzTxnIndex(f *testing.F) {
	f.Add(make([]byte, 68))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := parseTxn(b)
		if err != nil {
			return
		}
		if len(entries)*txnEntrySize != len(b) || !slices.IsSortedFunc(entries, func(a, b AbortedTxn) int {
			return int(min(1, max(-1, a.LastOffset-b.LastOffset)))
		}) {
			t.Errorf("%d bytes, %+v", len(b), entries)
		}
	})
}
