package commitlog

import (
	"sync/atomic"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
)

// TestCreateAll: many logs are made with one sync of each log directory, share the directories evenly, are durable,
// and don't hold each other up: one that can't be made is the only one to fail.
func TestCreateAll(t *testing.T) {
	var syncs atomic.Int32
	mem := vfs.NewMem()
	e := newEnv(vfs.NewInject(mem, func(_ int64, op vfs.Op, name string) error {
		if op == vfs.OpSyncDir && (name == "/a" || name == "/b") {
			syncs.Add(1)
		}
		return nil
	}))
	e.dirs = []string{"/a", "/b"}
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.m.Create("t", 7, [16]byte{9}, e.cfg); err != nil {
		t.Fatal(err)
	}
	syncs.Store(0)
	logs := make([]NewLog, 41)
	for i := range logs {
		logs[i] = NewLog{Topic: "t", Partition: int32(i), TopicID: e.topicID, Config: e.cfg}
	}
	for i, c := range e.m.CreateAll(logs) {
		switch {
		case i == 7: // It has another topic's id.
			if c.Err == nil {
				t.Error("a log of another topic passes")
			}
		case c.Err != nil:
			t.Errorf("partition %d: %v", i, c.Err)
		case c.Log.Partition() != int32(i) || c.Log.TopicID() != e.topicID:
			t.Errorf("answer %d is for partition %d", i, c.Log.Partition())
		}
	}
	if n := syncs.Load(); n != 2 {
		t.Errorf("%d syncs of log directories, want one each", n)
	}
	for _, d := range e.m.Dirs() {
		if n := len(d.Logs); n < 20 || n > 21 {
			t.Errorf("%s has %d of 41 logs", d.Path, n)
		}
	}
	after := newEnv(mem.AfterCrash(nil))
	after.dirs = e.dirs
	if err := after.open(); err != nil {
		t.Fatal(err)
	}
	for i := range logs {
		if l, ok := after.m.Get("t", int32(i)); !ok || i != 7 && l.TopicID() != e.topicID {
			t.Errorf("partition %d after a crash: %t", i, ok)
		}
	}
	closeEnv(t, after)
	closeEnv(t, e)
}
