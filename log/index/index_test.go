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
	pool := files.NewPool(fs, 1)
	x := NewTxn(pool, path)
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
		got, complete, err := NewTxn(pool, path).Collect(nil, tc.from, tc.upper)
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
	if err := NewTxn(files.NewPool(fs, 1), path).Check(); !errors.Is(err, ErrCorrupt) {
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

// TestTxnPool: a transaction index with writes that weren't synced stays open; one without rests among the others.
func TestTxnPool(t *testing.T) {
	fs := vfs.NewCount(vfs.NewMem())
	pool := files.NewPool(fs, 2)
	want := func(when string, open, pinned int) {
		t.Helper()
		now, _ := fs.Open()
		if s := pool.Stats(); now != open || s.Open != open || s.Pinned != pinned {
			t.Errorf("%s: %d files are open, %+v, want %d and %d pinned", when, now, s, open, pinned)
		}
	}
	all := make([]*Txn, 5)
	for i := range all {
		all[i] = NewTxnWithout(pool, path+string(rune('a'+i)))
		if got, _, err := all[i].Collect(nil, 0, 100); err != nil || len(got) > 0 {
			t.Fatal(got, err)
		}
	}
	want("without entries", 0, 0)
	for _, x := range all {
		if err := x.Append(AbortedTxn{7, 10, 20, 15}); err != nil {
			t.Fatal(err)
		}
	}
	want("written", 5, 5)
	for _, x := range all {
		if err := x.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	want("flushed", 2, 0)
	for i := range all {
		got, _, err := NewTxn(pool, path+string(rune('a'+i))).Collect(nil, 0, 100)
		if err != nil || len(got) != 1 {
			t.Errorf("index %d has %v, %v", i, got, err)
		}
	}
	want("read by others", 2, 0)
	if err := all[0].TruncateTo(0); err != nil {
		t.Fatal(err)
	}
	want("truncated", 3, 1)
	pool.Shrink()
	all[0].Discard()
	want("discarded", 0, 0)
	if err := errors.Join(all[0].Flush(), all[1].Rename(path+"x"), NewTxn(pool, path+"x").Check()); err != nil {
		t.Error(err)
	}
}

// TestMadeAnew: while an index is made anew its file stays as it is, however many entries come; then it holds them,
// and no old one behind them.
func TestMadeAnew(t *testing.T) {
	for _, n := range []int{0, 1, tailEntries, 3*tailEntries + 1} {
		for _, finish := range []bool{false, true} {
			for kind, open := range anewKinds() {
				fs := vfs.NewMem()
				old := open(t, fs)
				for i := range 2 * tailEntries {
					old.add(int64(2 * i))
				}
				if err := old.Flush(); err != nil {
					t.Fatal(err)
				}
				old.Discard()
				before := get(t, fs)
				x := open(t, fs)
				if err := x.Reset(); err != nil {
					t.Fatal(err)
				}
				for i := range n {
					x.add(int64(2*i + 1))
				}
				if !slices.Equal(get(t, fs), before) {
					t.Errorf("%s with %d entries: the file changes while they are made", kind, n)
				}
				if !finish {
					x.Discard()
					if !slices.Equal(get(t, fs), before) {
						t.Errorf("%s with %d entries: the file changes though they were given up", kind, n)
					}
					continue
				}
				x.Settle()
				x.add(1 << 20)
				if err := x.Flush(); err != nil {
					t.Fatal(err)
				}
				after := get(t, fs)
				x.Discard()
				if want := len(before) / (2 * tailEntries) * (n + 1); len(after) != want {
					t.Errorf("%s with %d entries: the file has %d bytes, want %d", kind, n, len(after), want)
				}
				fresh := vfs.NewMem()
				x = open(t, fresh)
				for i := range n {
					x.add(int64(2*i + 1))
				}
				x.add(1 << 20)
				if err := x.Flush(); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(after, get(t, fresh)) {
					t.Errorf("%s with %d entries differs from one that was always so", kind, n)
				}
			}
		}
	}
}

// anew is an index with a way to add an entry of any kind.
type anew struct {
	add     func(at int64)
	Reset   func() error
	Settle  func()
	Flush   func() error
	Discard func()
}

func anewKinds() map[string]func(*testing.T, vfs.FS) anew {
	return map[string]func(*testing.T, vfs.FS) anew{
		"offsets": func(t *testing.T, fs vfs.FS) anew {
			x, err := OpenOffset(files.NewPool(fs, 10), path, 0, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			add := func(at int64) {
				if err := x.Append(at+1, at+1); err != nil {
					t.Fatal(err)
				}
			}
			return anew{add, x.Reset, x.Settle, x.Flush, x.Discard}
		},
		"times": func(t *testing.T, fs vfs.FS) anew {
			x, err := OpenTime(files.NewPool(fs, 10), path, 0, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			add := func(at int64) {
				if err := x.MaybeAppend(at+1, at+1); err != nil {
					t.Fatal(err)
				}
			}
			return anew{add, x.Reset, x.Settle, x.Flush, x.Discard}
		},
		"transactions": func(t *testing.T, fs vfs.FS) anew {
			x := NewTxn(files.NewPool(fs, 10), path)
			add := func(at int64) {
				if err := x.Append(AbortedTxn{7, at, at, at}); err != nil {
					t.Fatal(err)
				}
			}
			return anew{add, x.Reset, x.Settle, x.Flush, x.Discard}
		},
	}
}
