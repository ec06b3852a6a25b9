package producer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/log/batch"
)

// spec describes a batch.
type spec struct {
	id        int64
	epoch     int16
	sequence  int32
	n         int
	txn       bool
	timestamp int64
}

var codecs = batch.NewCodecs()

// make builds the batch at offset.
func (s spec) make(offset int64) batch.Batch {
	o := batch.DefaultOptions()
	o.BaseOffset, o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = offset, s.id, s.epoch, s.sequence, s.txn
	builder := codecs.NewBuilder(nil, o)
	for range s.n {
		builder.Append(s.timestamp, nil, nil)
	}
	raw, err := builder.Build()
	if err != nil {
		panic(err)
	}
	b, _, err := batch.Parse(raw)
	if err != nil {
		panic(err)
	}
	return b
}

// marker builds an end marker at offset.
func marker(offset, timestamp, id int64, epoch int16, commit bool, coordinatorEpoch int32) batch.Batch {
	raw := batch.AppendEndTxnMarker(nil, timestamp, id, epoch, batch.EndTxnMarker{Commit: commit, CoordinatorEpoch: coordinatorEpoch})
	b, _, err := batch.Parse(raw)
	if err != nil {
		panic(err)
	}
	b.SetBaseOffset(offset)
	return b
}

// TestScripts runs the scripts of testdata/scripts against a state as a log would: check, then
// append and replay what was accepted. Commands:
//
//	new [verify] [max=N] [expiration=MS]
//	produce id= epoch= seq= [n=1] [txn] [guard=] [from=coordinator] [ts=]
//	marker id= epoch= (commit|abort) [coordinator=0] [tv=0] [ts=]
//	verify id= epoch= seq= [v2] [ts=]
//	plain n=            records without a producer
//	hw to= · start to= · expire now= · reload now= · truncate to= · state
//
// "steps" only heads a list of commands.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		r := &runner{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			if d.Cmd != "steps" {
				fmt.Fprintln(&out, r.run(t, d, ""))
			}
			for line := range strings.Lines(d.Input) {
				fmt.Fprintln(&out, r.run(t, d, line))
			}
			return out.String()
		})
	})
}

type runner struct {
	s    *State
	next int64 // log end
}

// args are the words of one command.
type args struct{ words []string }

func (a args) has(word string) bool {
	for _, w := range a.words {
		if w == word {
			return true
		}
	}
	return false
}

func (a args) int(t *testing.T, name string, otherwise int64) int64 {
	for _, w := range a.words {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			var n int64
			if _, err := fmt.Sscan(v, &n); err != nil {
				t.Fatalf("%s: %v", w, err)
			}
			return n
		}
	}
	return otherwise
}

func (r *runner) run(t *testing.T, d *datadriven.TestData, line string) string {
	words := strings.Fields(line)
	if len(words) == 0 {
		words = []string{d.Cmd}
		for _, a := range d.CmdArgs {
			words = append(words, a.String())
		}
	}
	a := args{words[1:]}
	id, epoch, ts := a.int(t, "id", 1), int16(a.int(t, "epoch", 0)), a.int(t, "ts", 1000+r.next)
	switch words[0] {
	case "new":
		r.s = New(Config{
			Topic: "t", ExpirationMs: a.int(t, "expiration", 1_000_000), MaxProducers: int(a.int(t, "max", 0)),
			VerificationEnabled: a.has("verify"),
		})
		r.next = 0
		return "ok"
	case "plain":
		r.next += a.int(t, "n", 1)
		r.s.SetMapEndOffset(r.next)
		return fmt.Sprint("end ", r.next)
	case "produce":
		b := spec{id, epoch, int32(a.int(t, "seq", 0)), int(a.int(t, "n", 1)), a.has("txn"), ts}.make(r.next)
		o := CheckOptions{Guard: Guard(a.int(t, "guard", 0))}
		if a.has("from=coordinator") {
			o.Origin = OriginCoordinator
		}
		return r.append(&b, o)
	case "marker":
		b := marker(r.next, ts, id, epoch, a.has("commit"), int32(a.int(t, "coordinator", 0)))
		return r.append(&b, CheckOptions{Origin: OriginCoordinator, TransactionVersion: int16(a.int(t, "tv", 0))})
	case "verify":
		g, err := r.s.StartVerification(id, int32(a.int(t, "seq", 0)), epoch, a.has("v2"), ts)
		if err != nil {
			return kerr.TypedErrorForCode(kerror.CodeOf(err)).Message
		}
		return fmt.Sprint("guard ", g)
	case "hw":
		r.s.OnHighWatermark(a.int(t, "to", 0))
		return r.unstable()
	case "start":
		r.s.OnLogStartOffset(a.int(t, "to", 0))
		return fmt.Sprint(r.unstable(), ", map end ", r.s.MapEndOffset())
	case "expire":
		return fmt.Sprint("expired ", r.s.Expire(a.int(t, "now", 0)))
	case "truncate":
		r.next = a.int(t, "to", 0)
		r.s.TruncateFullyAndStartAt(r.next)
		return r.state()
	case "reload":
		if err := r.s.LoadSnapshot(r.s.AppendSnapshot(nil), r.next, a.int(t, "now", 0)); err != nil {
			return err.Error()
		}
		return r.state()
	case "state":
		return r.state()
	}
	t.Fatalf("unknown command %q", words[0])
	return ""
}

func (r *runner) append(b *batch.Batch, o CheckOptions) string {
	decision, err := r.s.Check(b, o)
	if err != nil {
		return kerr.TypedErrorForCode(kerror.CodeOf(err)).Message
	}
	if decision.Duplicate {
		m := decision.DuplicateOf
		return fmt.Sprintf("duplicate of [%d, %d]", m.FirstOffset(), m.LastOffset)
	}
	r.next = b.NextOffset()
	done, ended, err := r.s.Replay(b)
	if err != nil {
		return err.Error()
	}
	if ended {
		return fmt.Sprintf("ended %+v", done)
	}
	return fmt.Sprintf("[%d, %d]", b.BaseOffset, b.LastOffset())
}

func (r *runner) unstable() string {
	if offset, ok := r.s.FirstUnstableOffset(); ok {
		return fmt.Sprint("first unstable ", offset)
	}
	return "all stable"
}

func (r *runner) state() string {
	var b strings.Builder
	fmt.Fprintf(&b, "map end %d, %s", r.s.MapEndOffset(), r.unstable())
	for _, p := range r.s.ActiveProducers() {
		fmt.Fprintf(&b, "\n%+v", p)
	}
	return b.String()
}
