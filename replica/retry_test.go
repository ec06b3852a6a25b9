package replica

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/internal/vfs"
)

// TestRetryLogs: partitions whose logs couldn't be made, on a full device or for want of descriptors, answer a storage
// error, and are led once that is over and RetryLogs was called; those that were deleted meanwhile don't come back.
func TestRetryLogs(t *testing.T) {
	scarcities(t, func(t *testing.T, fs vfs.FS, begin, end func()) {
		r := newRigOn(t, fs)
		r.create("before", 1, self)
		begin()
		topics := []string{"a", "b", "c"}
		for _, name := range topics {
			r.create(name, 1, self)
		}
		r.create("gone", 1, self)
		retry := func() {
			r.m.RetryLogs()
			r.m.retries.workers.Wait()
		}
		check := func(when string, want error) {
			t.Helper()
			for _, name := range topics {
				if _, _, err := r.m.Led(name, 0); !errors.Is(err, want) {
					t.Errorf("%s %s: %v, want %v", name, when, err, want)
				}
			}
		}
		check("in want", kerr.KafkaStorageError)
		retry()
		check("after a try in want", kerr.KafkaStorageError)
		r.apply(&metadata.RemoveTopicRecord{TopicID: idOf("gone", 1)})
		end()
		check("without want, before the try", kerr.KafkaStorageError)
		retry()
		check("without want", nil)
		if _, ok := r.logs.Get("gone", 0); ok {
			t.Error("the log of a deleted topic was made")
		}
		p, epoch, err := r.m.Led("c", 0)
		if err != nil {
			t.Fatal(err)
		}
		if first, _, err := p.Append(records(t, "v"), epoch); err != nil || first != 0 {
			t.Errorf("append: offset %d, %v", first, err)
		}
		retry() // Nothing is left to do, and what is held stays.
		if again, _, err := r.m.Led("c", 0); err != nil || again != p {
			t.Errorf("a partition was made anew: %v", err)
		}
		r.m.Close()
		retry()
	})
}
