package decide

import (
	"bytes"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
)

// work collects the records of a decision that is made in steps, each of which sees what those before
// it change.
type work struct {
	image   *image.Image
	records []metadata.Record
}

func newWork(env *Env) *work { return &work{image: env.Image} }

// add applies records. They were made from the image, so that they must fit; whoever applies the
// decision finds out if they don't.
func (w *work) add(records ...metadata.Record) {
	if len(records) == 0 {
		return
	}
	w.records = append(w.records, records...)
	if next, _, err := w.image.Apply(w.image.Epoch(), records); err == nil {
		w.image = next
	}
}

func compareIDs(a, b image.ID) int { return bytes.Compare(a[:], b[:]) }
