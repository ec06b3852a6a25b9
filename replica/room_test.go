package replica

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// scarcities are passing wants of a disk: each has files on which it begins and ends.
func scarcities(t *testing.T, f func(t *testing.T, fs vfs.FS, begin, end func())) {
	t.Run("room", func(t *testing.T) {
		mem := vfs.NewMem()
		f(t, mem, func() {
			u, err := mem.Usage("/")
			if err != nil {
				t.Fatal(err)
			}
			mem.SetCapacity(u.TotalBytes - u.FreeBytes)
		}, func() { mem.SetCapacity(0) })
	})
	t.Run("descriptors", func(t *testing.T) {
		var short atomic.Bool
		fs := vfs.NewInject(vfs.NewMem(), func(_ int64, op vfs.Op, name string) error {
			if short.Load() && (op == vfs.OpOpen || op == vfs.OpCreate) {
				return fmt.Errorf("open %s: %w", name, syscall.EMFILE)
			}
			return nil
		})
		f(t, fs, func() { short.Store(true) }, func() { short.Store(false) })
	})
}

// TestCoordinatorOfAScarceLog: to a coordinator a full device or a want of descriptors is a passing trouble, not the loss of
// its log.
func TestCoordinatorOfAScarceLog(t *testing.T) {
	scarcities(t, func(t *testing.T, fs vfs.FS, begin, end func()) {
		r := newRigOn(t, fs)
		r.create("t", 1, self)
		p, epoch, err := r.m.Led("t", 0)
		if err != nil {
			t.Fatal(err)
		}
		build := func() []byte {
			b := batch.NewCodecs().NewBuilder(nil, batch.DefaultOptions())
			b.Append(0, []byte("k"), make([]byte, 1000))
			raw, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			return raw
		}
		begin()
		r.create("other", 1, self) // Idle files are closed for it, but to no avail.
		if _, _, err := p.Append(build(), epoch); !errors.Is(err, kerr.NotEnoughReplicas) || errors.Is(err, kerr.KafkaStorageError) {
			t.Errorf("append in want: %v", err)
		}
		end()
		if first, _, err := p.Append(build(), epoch); err != nil || first != 0 {
			t.Errorf("append after it: offset %d, %v", first, err)
		}
	})
}
