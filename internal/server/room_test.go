package server

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/twmb/franz-go/pkg/kerr"
)

// TestPartitionWithoutRoom: a partition that can't be made for want of room is made by itself once there is some.
func TestPartitionWithoutRoom(t *testing.T) {
	mem := vfs.NewMem()
	mem.SetCapacity(64 << 20)
	var full atomic.Bool
	n := newNode()
	n.fs = vfs.NewInject(mem, func(_ int64, op vfs.Op, name string) error {
		if full.Load() && op == vfs.OpCreate && strings.HasPrefix(name, "/data/t-0/") {
			return syscall.ENOSPC
		}
		return nil
	})
	s, err := n.start(t, map[string]string{"log.dir.min.free.bytes": "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer closeServer(t, s)
	c := dial(t, s)
	full.Store(true)
	createTopic(t, c, "t", 1)
	if code := produceOne(t, c, "t", 0); code != kerr.KafkaStorageError.Code {
		t.Fatalf("without room: error %d", code)
	}
	full.Store(false)
	mem.SetCapacity(128 << 20)
	for until := time.Now().Add(20 * time.Second); ; {
		code := produceOne(t, c, "t", 0)
		if code == 0 {
			return
		}
		if code != kerr.KafkaStorageError.Code || time.Now().After(until) {
			t.Fatalf("with room: error %d", code)
		}
		<-time.After(50 * time.Millisecond)
	}
}
