package commitlog

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
)

// openTold opens a manager; look has it look for room and descriptors, and checks how many times it has told of them by then.
func openTold(t *testing.T, e *env) (m *Manager, look func(want int32, when string)) {
	t.Helper()
	var told atomic.Int32
	m, err := openDirs(t, e, func(c *ManagerConfig) { c.OnRoom = func() { told.Add(1) } }, "/data")
	if err != nil {
		t.Fatal(err)
	}
	e.m = m
	return m, func(want int32, when string) {
		t.Helper()
		e.watch()
		e.m.calls.Wait()
		if n := told.Load(); n != want {
			t.Errorf("told %d times %s, want %d", n, when, want)
		}
	}
}

// TestRefusedLog: a log that can't be made on a full device may be asked for again once there is room, which is told
// once, and leaves nothing until then.
func TestRefusedLog(t *testing.T) {
	mem := vfs.NewMem()
	e := newEnv(mem)
	m, look := openTold(t, e)
	defer closeEnv(t, e)
	u, err := mem.Usage("/")
	if err != nil {
		t.Fatal(err)
	}
	used := u.TotalBytes - u.FreeBytes
	look(0, "before anything was refused")
	for round := range int32(2) {
		mem.SetCapacity(used)
		for range 2 {
			if _, err := m.Create("t", round, e.topicID, e.cfg); !errors.Is(err, ErrNoRoom) {
				t.Fatalf("create on a full device: %v", err)
			}
		}
		if _, err := mem.Stat("/data/" + (topicPartition{"t", round}).String()); !isNotExist(err) {
			t.Errorf("the refused log has left something: %v", err)
		}
		look(round, "while the device is full")
		mem.SetCapacity(used + exhaustedGrowth)
		look(round+1, "with room")
		look(round+1, "a second later")
		l, err := m.Create("t", round, e.topicID, e.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := appendRecords(l, 1, 8, 1000); err != nil {
			t.Fatal(err)
		}
		if u, err = mem.Usage("/"); err != nil {
			t.Fatal(err)
		}
		used = u.TotalBytes - u.FreeBytes
	}
	mem.SetCapacity(0)
}

// TestRefusedLogWithoutDescriptors is TestRefusedLog where the system runs out of descriptors: a few that are left don't end
// the want yet.
func TestRefusedLogWithoutDescriptors(t *testing.T) {
	left := vfs.NewCount(vfs.NewMem())
	var limit atomic.Int64
	limit.Store(1 << 30)
	e := newEnv(vfs.NewInject(left, func(_ int64, op vfs.Op, _ string) error {
		if now, _ := left.Open(); opens(op) && int64(now) >= limit.Load() {
			return syscall.ENFILE
		}
		return nil
	}))
	m, look := openTold(t, e)
	defer closeEnv(t, e)
	limit.Store(0)
	for range 2 {
		if _, err := m.Create("t", 0, e.topicID, e.cfg); !errors.Is(err, ErrNoDescriptors) {
			t.Fatalf("create without descriptors: %v", err)
		}
	}
	look(0, "without descriptors")
	limit.Store(spareDescriptors - 1)
	look(0, "with few")
	limit.Store(spareDescriptors)
	look(1, "with some")
	look(1, "a second later")
	l, err := m.Create("t", 0, e.topicID, e.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := appendRecords(l, 1, 8, 1000); err != nil {
		t.Fatal(err)
	}
	limit.Store(1 << 30)
}
