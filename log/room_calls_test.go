package commitlog

import (
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
)

// filler makes the device full at one call.
type filler struct {
	at int64
	fs vfs.FS
	mu sync.Mutex
	// op and name are of that call, empty if it isn't one that needs room.
	op   vfs.Op
	name string
}

// needsRoom says that a call may find no room on a real device.
func needsRoom(op vfs.Op) bool {
	switch op {
	case vfs.OpCreate, vfs.OpMkdir, vfs.OpRename, vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir, vfs.OpPreallocate, vfs.OpReserve:
		return true
	}
	return false
}

// callsThatNeedRoom are the numbers of a workload's calls that do.
func callsThatNeedRoom(work func(vfs.FS)) []int64 {
	var mu sync.Mutex
	var calls []int64
	work(vfs.NewInject(vfs.NewMem(), func(n int64, op vfs.Op, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		if needsRoom(op) {
			calls = append(calls, n)
		}
		return nil
	}))
	return calls
}

func (f *filler) fail(n int64, op vfs.Op, name string) error {
	if !needsRoom(op) || n != f.at || strings.HasPrefix(name, "/data/meta.properties") {
		return nil // A directory that has never been used may be refused.
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if op == vfs.OpMkdir {
		if _, err := f.fs.Stat(name); err == nil || name == "/data" {
			return nil
		}
	}
	f.op, f.name = op, name
	return syscall.ENOSPC
}

// judge says what is wrong with how a directory bore a full device: only a sync may take it out of service, or a
// rename in the middle of an exchange of files.
func (f *filler) judge(e *env) string {
	offline := strings.Contains(e.logs.String(), "log directory is offline")
	if f.op == vfs.OpSync || f.op == vfs.OpSyncDir {
		if !offline {
			return "a failed sync left the directory in service"
		}
		return ""
	}
	if offline && f.op != vfs.OpRename {
		return "the directory is offline"
	}
	return ""
}

// TestNoRoomAtEveryCall lets the device be full at each call of the workloads that the crash tests run: the
// directory stays in service, and what was promised holds, now, after a kill and after a loss of power.
func TestNoRoomAtEveryCall(t *testing.T) {
	t.Parallel()
	for _, n := range callsThatNeedRoom(func(fs vfs.FS) { workload(newEnv(fs), &history{}) }) {
		mem := vfs.NewMem()
		f := &filler{at: n, fs: mem}
		var h history
		e := newEnv(vfs.NewInject(mem, f.fail))
		workload(e, &h)
		if f.op == "" {
			continue
		}
		if wrong := f.judge(e); wrong != "" {
			t.Errorf("no room at call %d, %s %s: %s\n%s", n, f.op, f.name, wrong, e.logs.String())
		}
		for name, fs := range map[string]vfs.FS{
			"crash": mem.AfterCrash(nil),
			"torn":  mem.AfterCrash(rand.New(rand.NewPCG(9, uint64(n)))),
			"kill":  mem,
		} {
			if err := reopen(t, fs, h); err != nil {
				t.Errorf("no room at call %d, %s %s, %s: %v", n, f.op, f.name, name, err)
			}
		}
	}
}

// TestNoRoomInCompaction is TestNoRoomAtEveryCall with compactions.
func TestNoRoomInCompaction(t *testing.T) {
	t.Parallel()
	for _, n := range callsThatNeedRoom(func(fs vfs.FS) { compactingWorkload(compactedEnv(fs), &keyed{}) }) {
		mem := vfs.NewMem()
		f := &filler{at: n, fs: mem}
		var h keyed
		e := compactedEnv(vfs.NewInject(mem, f.fail))
		compactingWorkload(e, &h)
		if f.op == "" {
			continue
		}
		if wrong := f.judge(e); wrong != "" {
			t.Errorf("no room at call %d, %s %s: %s\n%s", n, f.op, f.name, wrong, e.logs.String())
		}
		if strings.Contains(e.logs.String(), "setting a partition aside") {
			t.Errorf("no room at call %d, %s %s: it is not compacted any more\n%s", n, f.op, f.name, e.logs.String())
		}
		for name, fs := range map[string]vfs.FS{
			"torn": mem.AfterCrash(rand.New(rand.NewPCG(9, uint64(n)))),
			"kill": mem,
		} {
			if err := reopenCompacted(fs, h); err != nil {
				t.Fatalf("no room at call %d, %s %s, %s: %v\n%s", n, f.op, f.name, name, err, e.logs.String())
			}
		}
	}
}
