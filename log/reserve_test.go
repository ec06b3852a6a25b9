package commitlog

import (
	"errors"
	"syscall"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
)

// TestReserve follows what is reserved for a log: some of what a segment will need, once it has a size, and nothing after a
// roll, a truncation, a clean stop, or the start after a kill.
func TestReserve(t *testing.T) {
	mem := vfs.NewMem()
	e := newEnv(mem)
	e.cfg.SegmentBytes = 10_000
	e.reserve = Reserve{FromBytes: 2000, MinBytes: 100, MaxBytes: 500}
	l := mustOpen(t, e)
	grow := func(to int64) {
		t.Helper()
		for l.active().size.Load() < to {
			if _, err := appendRecords(l, 1, 100, 1000); err != nil {
				t.Fatal(err)
			}
		}
	}
	reserved := func(least, most int64) {
		t.Helper()
		if n := mem.Reserved(); n < least || n > most {
			t.Errorf("%d bytes are reserved at %d bytes, want %d to %d", n, l.active().size.Load(), least, most)
		}
	}
	grow(2000)
	reserved(0, 0)
	grow(2300)
	reserved(1, 500)
	grow(8000)
	reserved(1, 500)
	grow(9600)
	reserved(0, 500) // No more than the segment will hold.
	l.mu.Lock()
	_, err := l.roll(l.LogEndOffset())
	l.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	reserved(0, 0)
	grow(4000)
	reserved(1, 500)
	if err := l.TruncateTo(l.LogEndOffset() - 2); err != nil {
		t.Fatal(err)
	}
	reserved(0, 0)
	grow(4500)
	reserved(1, 500)

	abandonAll(e)
	reserved(1, 500) // As a kill leaves it.
	l = mustOpen(t, e)
	reserved(0, 0)
	grow(6000)
	reserved(1, 500)
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
	reserved(0, 0)
}

// TestReserveRefused has a file system that can't reserve, or has no room for it: appends go on, and it isn't asked again for
// the segment.
func TestReserveRefused(t *testing.T) {
	for _, refusal := range []error{errors.ErrUnsupported, syscall.ENOSPC, syscall.EIO} {
		asked, mem := 0, vfs.NewMem()
		e := newEnv(vfs.NewInject(mem, func(_ int64, op vfs.Op, _ string) error {
			if op == vfs.OpReserve {
				asked++
				return refusal
			}
			return nil
		}))
		e.cfg.SegmentBytes = 10_000
		l := mustOpen(t, e)
		for range 20 {
			if _, err := appendRecords(l, 1, 100, 1000); err != nil {
				t.Fatalf("%v: %v", refusal, err)
			}
		}
		if asked != 1 {
			t.Errorf("%v: asked %d times, want once", refusal, asked)
		}
		if n := mem.Reserved(); n != 0 {
			t.Errorf("%v: %d bytes are still reserved", refusal, n)
		}
		if offsets, err := readAll(l, 0); err != nil || contiguous(offsets, 0, 20) != nil {
			t.Errorf("%v: %v, %v", refusal, offsets, err)
		}
		if err := e.m.Close(); err != nil {
			t.Errorf("%v: %v", refusal, err)
		}
	}
}

// TestReserveCramped reserves no more than free space allows. What is reserved counts as spent, once, and is given back when free
// space becomes short.
func TestReserveCramped(t *testing.T) {
	mem := vfs.NewMem()
	e := newEnv(mem)
	e.cfg.SegmentBytes = 1 << 20
	e.reserve = Reserve{FromBytes: 1000, MinBytes: 10_000, MaxBytes: 10_000}
	l := mustOpen(t, e)
	grow := func(n int) {
		t.Helper()
		for range n {
			if _, err := appendRecords(l, 1, 100, 1000); err != nil {
				t.Fatal(err)
			}
		}
	}
	mem.SetCapacity(1 << 20)
	e.m.SetMinFreeBytes(8000) // An eighth, of which a look allows.
	grow(20)
	if n := mem.Reserved(); n != 0 {
		t.Errorf("%d bytes are reserved, though 1000 may be spent", n)
	}
	e.m.SetMinFreeBytes(200_000)
	before := l.dir.room.budget.Load()
	size := l.SizeBytes()
	grow(1)
	if n := mem.Reserved(); n != 10_000 {
		t.Errorf("%d bytes are reserved", n)
	}
	grow(3)
	if spent := before - l.dir.room.budget.Load(); spent != 10_000+(l.SizeBytes()-size)/4 {
		t.Errorf("%d bytes are spent for one append, 10000 bytes reserved behind it, and three appends into those", spent)
	}
	u, err := mem.Usage("/data")
	if err != nil {
		t.Fatal(err)
	}
	mem.SetCapacity(u.TotalBytes - u.FreeBytes + 100_000)
	l.dir.spend(1 << 20) // Others' appends have a look taken.
	if _, err := appendRecords(l, 1, 100, 1000); !errors.Is(err, ErrNoRoom) || mem.Reserved() == 0 {
		t.Errorf("%v; %d bytes are reserved still", err, mem.Reserved())
	}
	e.m.watchRoom()
	if n := mem.Reserved(); n != 0 {
		t.Errorf("%d bytes are reserved where no client may append", n)
	}
	if err := e.m.Close(); err != nil {
		t.Error(err)
	}
}
