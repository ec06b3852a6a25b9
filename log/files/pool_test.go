package files

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"pgregory.net/rapid"
)

// makeFiles makes n files that hold their number, and closed Files of them.
func makeFiles(t interface{ Fatal(...any) }, p *Pool, n int) []*File {
	out := make([]*File, n)
	for i := range out {
		name := fmt.Sprintf("/%d", i)
		f, err := p.FS().OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte{byte(i)}, 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		out[i] = new(File)
		out[i].Init(p, name, nil)
	}
	return out
}

// modelFile is what a File should be.
type modelFile struct {
	holds           int
	pinned, retired bool
}

// TestModel drives a pool against a model: the open files are those that are held or pinned, and of the others
// those that came to rest last.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 8
		maxIdle := rapid.IntRange(0, 4).Draw(t, "maxIdle")
		fs := vfs.NewCount(vfs.NewMem())
		p := NewPool(fs, maxIdle)
		fileOf := makeFiles(t, p, n)
		model := make([]modelFile, n)
		var idle []int // The one that rests longest comes first.
		leave := func(i int) { idle = slices.DeleteFunc(idle, func(j int) bool { return j == i }) }
		settle := func(i int) {
			if m := model[i]; m.holds > 0 || m.pinned || m.retired {
				return
			}
			leave(i)
			idle = append(idle, i)
			idle = idle[max(len(idle)-maxIdle, 0):]
		}
		pick := rapid.IntRange(0, n-1)
		t.Repeat(map[string]func(*rapid.T){
			"hold": func(t *rapid.T) {
				i := pick.Draw(t, "i")
				f, err := fileOf[i].Hold()
				if err != nil {
					t.Fatal(err)
				}
				var b [1]byte
				if _, err := f.ReadAt(b[:], 0); err != nil || int(b[0]) != i {
					t.Fatalf("file %d reads %d, %v", i, b[0], err)
				}
				model[i].holds++
				leave(i)
			},
			"release": func(t *rapid.T) {
				i := pick.Draw(t, "i")
				if model[i].holds == 0 {
					t.Skip()
				}
				model[i].holds--
				fileOf[i].Release()
				settle(i)
			},
			"pin": func(t *rapid.T) {
				i := pick.Draw(t, "i")
				_, first, err := fileOf[i].Pin(0)
				if err != nil || first == model[i].pinned {
					t.Fatalf("pinned first: %t, %v; it was pinned: %t", first, err, model[i].pinned)
				}
				model[i].pinned = true
				leave(i)
			},
			"unpin": func(t *rapid.T) {
				i := pick.Draw(t, "i")
				fileOf[i].Unpin()
				if model[i].pinned {
					model[i].pinned = false
					settle(i)
				}
			},
			"retire": func(t *rapid.T) {
				i := pick.Draw(t, "i")
				fileOf[i].Retire()
				model[i].pinned, model[i].retired = false, true
				leave(i)
			},
			"rename": func(t *rapid.T) {
				f := fileOf[pick.Draw(t, "i")]
				if err := f.Rename(f.Path() + "x"); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				want := Stats{Open: len(idle), Idle: len(idle)}
				for i, m := range model {
					open := m.holds > 0 || m.pinned
					if open {
						want.Open++
					}
					if m.pinned {
						want.Pinned++
					}
					if open = open || slices.Contains(idle, i); open != (fileOf[i].file != nil) {
						t.Fatalf("file %d is open: %t, want %t", i, !open, open)
					}
				}
				now, _ := fs.Open()
				if got := p.Stats(); got != want || now != want.Open {
					t.Fatalf("%+v with %d open files, want %+v", got, now, want)
				}
			},
		})
	})
}

// TestConcurrentUse holds, pins, renames and retires the same few files from many goroutines: a held file is
// never closed, and what is idle stays within the bound.
func TestConcurrentUse(t *testing.T) {
	const n, workers, rounds, maxIdle = 12, 8, 3000, 3
	fs := vfs.NewCount(vfs.NewMem())
	p := NewPool(fs, maxIdle)
	fileOf := makeFiles(t, p, n)
	var pins [n]sync.Mutex // One writer a file, as in a log.
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			for round := range rounds {
				i := rng.IntN(n)
				f := fileOf[i]
				if rng.IntN(4) == 0 && pins[i].TryLock() {
					if _, _, err := f.Pin(0); err != nil {
						t.Error(err)
					}
					if rng.IntN(8) == 0 {
						if err := f.Rename(f.Path() + "x"); err != nil {
							t.Error(err)
						}
					}
					f.Unpin()
					pins[i].Unlock()
				}
				file, err := f.Hold()
				if err != nil {
					t.Error(err)
					return
				}
				var b [1]byte
				if _, err := file.ReadAt(b[:], 0); err != nil || int(b[0]) != i {
					t.Errorf("file %d reads %d, %v", i, b[0], err)
				}
				if round == rounds-1 && w == 0 {
					f.Retire()
					if _, err := file.ReadAt(b[:], 0); err != nil {
						t.Errorf("a retired file that is held: %v", err)
					}
				}
				f.Release()
			}
		})
	}
	wg.Wait()
	if s := p.Stats(); s.Open != s.Idle || s.Idle > maxIdle || s.Pinned != 0 {
		t.Errorf("%+v at rest, want at most %d open", s, maxIdle)
	}
	// Each goroutine holds one file, and is about to close one.
	if _, most := fs.Open(); most > maxIdle+2*workers {
		t.Errorf("%d files were open at the same time", most)
	}
	for _, f := range fileOf {
		f.Retire()
	}
	if now, _ := fs.Open(); now != 0 {
		t.Errorf("%d files are open after the end", now)
	}
}

// TestFailedOpen: a file that can't be opened is neither held nor pinned, and can be later.
func TestFailedOpen(t *testing.T) {
	fail := true
	fs := vfs.NewInject(vfs.NewMem(), func(_ int64, _ vfs.Op, _ string) error {
		if fail {
			return vfs.ErrInjected
		}
		return nil
	})
	p := NewPool(fs, 1)
	var f File
	f.Init(p, "/f", nil)
	if _, err := f.HoldFlag(os.O_CREATE); !errors.Is(err, vfs.ErrInjected) {
		t.Fatalf("hold: %v", err)
	}
	if _, _, err := f.Pin(os.O_CREATE); !errors.Is(err, vfs.ErrInjected) {
		t.Fatalf("pin: %v", err)
	}
	if s := p.Stats(); s != (Stats{}) {
		t.Fatalf("%+v after failures", s)
	}
	fail = false
	if _, err := f.Hold(); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a file that doesn't exist, held without os.O_CREATE: %v", err)
	}
	if _, first, err := f.Pin(os.O_CREATE); err != nil || !first {
		t.Fatalf("pin: %t, %v", first, err)
	}
	if s := p.Stats(); s != (Stats{Open: 1, Pinned: 1}) {
		t.Fatalf("%+v", s)
	}
}

// TestClosedIsTold: what was derived from an open file goes with it.
func TestClosedIsTold(t *testing.T) {
	p := NewPool(vfs.NewMem(), 1)
	told := 0
	var a, b File
	a.Init(p, "/a", func() { told++ })
	b.Init(p, "/b", nil)
	for _, f := range []*File{&a, &b} {
		if told != 0 {
			t.Fatal("a was closed while there is room")
		}
		if _, err := f.HoldFlag(os.O_CREATE); err != nil {
			t.Fatal(err)
		}
		f.Release()
	}
	if told != 1 {
		t.Fatalf("told %d times", told)
	}
	defer func() {
		if recover() == nil {
			t.Error("a release without a hold passes")
		}
	}()
	a.Release()
}
