package replica

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// TestCoordinatorWithoutRoom: to a coordinator a full device is a passing trouble, not the loss of its log.
func TestCoordinatorWithoutRoom(t *testing.T) {
	r := newRig(t)
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
	mem := r.fs.(*vfs.Mem)
	u, err := mem.Usage("/")
	if err != nil {
		t.Fatal(err)
	}
	mem.SetCapacity(u.TotalBytes - u.FreeBytes + 100)
	if _, _, err := p.Append(build(), epoch); !errors.Is(err, kerr.NotEnoughReplicas) || errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("append to a full device: %v", err)
	}
	mem.SetCapacity(0)
	if first, _, err := p.Append(build(), epoch); err != nil || first != 0 {
		t.Errorf("append after room was made: offset %d, %v", first, err)
	}
}
