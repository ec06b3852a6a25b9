package commitlog

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// driver does to a log with transactions what brokers do, one step at a time as its dice say, and holds it
// against a ledger. Of a failure it asks only that the ledger's promises hold afterwards.
type driver struct {
	e   *env
	l   *Log
	led ledger
	// intn are the dice: a number in [0, n).
	intn func(n int) int
	// failing says that file system calls may fail; dead that one has, after which nothing more is tried.
	failing, dead bool
	// crashed says that a failure came before: what was compacted may lie beyond what the log knows of.
	crashed bool
	// reloaded says that the producers were read from files since the high watermark was last at the end.
	reloaded bool
	// decided is the high watermark at the last compaction, below which nothing is cut: the markers that it
	// went by lie there.
	decided int64
	// snapshotLost says that a producer snapshot was taken away: then no batches may go, which only it knows.
	snapshotLost bool
	// done counts the steps by name, refused the appends that had to be.
	done    map[string]int
	refused int
	// trace tells of the steps.
	trace []string
}

// note adds to the trace.
func (d *driver) note(format string, args ...any) {
	d.trace = append(d.trace, fmt.Sprintf(format, args...))
}

// tell is an error with the trace.
func (d *driver) tell(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\n\t%s", err, strings.Join(d.trace[max(0, len(d.trace)-400):], "\n\t"))
}

// driverSteps are the names of the steps with their weights.
var driverSteps = []struct {
	name   string
	weight int
	run    func(*driver) error
}{
	{"append", 24, (*driver).append},
	{"marker", 9, (*driver).marker},
	{"wrong", 6, (*driver).wrong},
	{"retry", 3, (*driver).retry},
	{"high watermark", 4, (*driver).moveHighWatermark},
	{"flush", 3, (*driver).flush},
	{"roll", 2, (*driver).roll},
	{"compact", 4, (*driver).compact},
	{"wait", 2, (*driver).wait},
	{"truncate", 2, (*driver).truncate},
	{"truncate fully", 1, (*driver).truncateFully},
	{"delete records", 2, (*driver).deleteRecords},
	{"retention", 2, (*driver).retention},
	{"checkpoint", 2, (*driver).checkpoint},
	{"stop", 1, (*driver).stop},
	{"kill", 1, (*driver).kill},
	{"damage", 1, (*driver).damage},
}

// txnEnv draws a configuration.
func txnEnv(fs vfs.FS, intn func(n int) int) *env {
	e := newEnv(fs)
	e.cfg.SegmentBytes = int32(300 + intn(1200))
	e.cfg.IndexIntervalBytes = int32(1 + intn(400))
	e.cfg.SegmentIndexBytes = int32(24 + intn(200))
	e.cfg.Preallocate = intn(4) == 0
	e.cfg.FlushMessages = []int64{1, 9, NoLimit}[intn(3)]
	e.cfg.RetentionMs = -1
	e.cfg.DeleteRetentionMs = 1000
	e.cfg.MinCleanableDirtyRatio = 0
	e.cfg.Compact = intn(2) == 0
	e.cfg.Delete = !e.cfg.Compact || intn(3) == 0
	e.dedupe = []int64{72, 150, 1 << 20}[intn(3)]
	return e
}

// open opens the log.
func (d *driver) open() error {
	if err := d.e.open(); err != nil {
		return d.failed(err)
	}
	return d.create()
}

// create makes the log, or takes the one there is.
func (d *driver) create() error {
	var err error
	if d.l, err = d.e.log(); err != nil {
		return d.failed(err)
	}
	d.reloaded = true
	return nil
}

// failed is what a step returns for an error of a file.
func (d *driver) failed(err error) error {
	if err == nil || d.failing {
		d.dead = d.dead || err != nil
		return nil
	}
	return err
}

// step does one step.
func (d *driver) step() error {
	sum := 0
	for _, s := range driverSteps {
		sum += s.weight
	}
	n := d.intn(sum)
	for _, s := range driverSteps {
		if n -= s.weight; n >= 0 {
			continue
		}
		if d.done == nil {
			d.done = map[string]int{}
		}
		d.done[s.name]++
		d.note("%s", s.name)
		if err := s.run(d); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if !d.dead {
			d.e.m.flusher.idle()
		}
		return nil
	}
	panic("the weights don't add up")
}

// compareAll compares log and ledger.
func (d *driver) compareAll() error {
	if d.failing {
		return nil // The reads could be what fails.
	}
	return d.led.compare(d.l, !d.crashed, d.reloaded)
}

// parsed makes the ledger's entry of a batch that is about to be appended.
func parsed(raw []byte, first int64, records []keyedRecord) entered {
	b, _, err := batch.Parse(slices.Clone(raw))
	if err != nil {
		panic(err)
	}
	b.SetBaseOffset(first)
	x := entered{Header: b.Header, records: records, timestamp: b.MaxTimestamp, control: b.Attributes.IsControl()}
	if m, ts, ok, err := b.EndTxnMarker(); err == nil && ok {
		x.commit, x.coordinatorEpoch, x.timestamp = m.Commit, m.CoordinatorEpoch, ts
	}
	return x
}

// data makes a batch of a few keys.
func (d *driver) data(o batch.BuilderOptions) ([]byte, []keyedRecord) {
	b := testCodecs.NewBuilder(nil, o)
	n := 1 + d.intn(4)
	var records []keyedRecord
	for i := range n {
		r := keyedRecord{key: "k" + strconv.Itoa(d.intn(6))}
		var value []byte
		if d.intn(5) > 0 {
			r.value = fmt.Sprintf("value %d of %d", d.led.end+int64(i), d.intn(1000))
			value = []byte(r.value)
		}
		records = append(records, r)
		b.Append(d.e.clk.Now().UnixMilli(), []byte(r.key), value)
	}
	out, err := b.Build()
	if err != nil {
		panic(err)
	}
	return out, records
}

// put appends what must be accepted.
func (d *driver) put(raw []byte, records []keyedRecord, o AppendOptions) error {
	x := parsed(raw, d.led.end, records)
	info, err := d.l.Append(raw, o)
	if err != nil {
		d.led.maybe = &x
		return d.failed(err)
	}
	if info.Duplicate || info.FirstOffset != x.BaseOffset || info.LastOffset != x.LastOffset() {
		return fmt.Errorf("answered %+v, want [%d, %d]", info, x.BaseOffset, x.LastOffset())
	}
	d.led.add(x)
	d.note("  [%d, %d] producer %d/%d sequence %d txn=%t marker=%t commit=%t", x.BaseOffset, x.LastOffset(), x.ProducerID,
		x.ProducerEpoch, x.BaseSequence, x.Attributes.IsTransactional(), x.control, x.commit)
	if d.e.cfg.FlushMessages == 1 {
		d.led.must = d.led.end
	}
	if d.intn(3) > 0 {
		d.watermark(d.led.end)
	}
	return nil
}

// watermark moves the high watermark.
func (d *driver) watermark(offset int64) {
	d.l.SetHighWatermark(offset)
	d.reloaded = d.reloaded && offset < d.led.end
}

// producer chooses one and tells its next epoch and sequence.
func (d *driver) producer() (o batch.BuilderOptions, p *wrote) {
	o = batch.DefaultOptions()
	o.Codec = batch.Codec(d.intn(2) * int(batch.LZ4))
	o.ProducerID = int64(1 + d.intn(4))
	o.ProducerEpoch, o.BaseSequence = 0, 0
	if p = d.led.producers()[o.ProducerID]; p != nil {
		o.ProducerEpoch = p.ProducerEpoch
		if p.LastSequence >= 0 {
			o.BaseSequence = batch.IncrementSequence(p.LastSequence, 1)
		}
	}
	return o, p
}

// append appends data: of no producer, of an idempotent one, or of a transaction.
func (d *driver) append() error {
	o, p := d.producer()
	open := p != nil && p.CurrentTxnStartOffset >= 0
	switch d.intn(5) {
	case 0:
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = -1, -1, -1
	case 1:
		o.Transactional = open
		if !open && d.intn(4) == 0 {
			o.ProducerEpoch, o.BaseSequence = o.ProducerEpoch+1, 0
		}
	default:
		o.Transactional = true
	}
	raw, records := d.data(o)
	return d.put(raw, records, AppendOptions{LeaderEpoch: 1})
}

// end makes the marker of a producer.
func (d *driver) end(o batch.BuilderOptions, coordinatorEpoch int32) []byte {
	return batch.AppendEndTxnMarker(nil, d.e.clk.Now().UnixMilli(), o.ProducerID, o.ProducerEpoch,
		batch.EndTxnMarker{Commit: d.intn(2) == 0, CoordinatorEpoch: coordinatorEpoch})
}

// marker ends a transaction, or none: a coordinator may have sent the marker before.
func (d *driver) marker() error {
	o, p := d.producer()
	epoch := int32(0)
	if p != nil {
		epoch = max(0, p.CoordinatorEpoch)
	}
	if d.intn(5) == 0 {
		o.ProducerEpoch++ // A fencing, or transactions v2.
	}
	if d.intn(5) == 0 {
		epoch++
	}
	return d.put(d.end(o, epoch), nil, AppendOptions{LeaderEpoch: 1, Origin: OriginCoordinator})
}

// wrong appends what must be refused.
func (d *driver) wrong() error {
	o, p := d.producer()
	if p == nil {
		return nil
	}
	opts, want := AppendOptions{LeaderEpoch: 1}, kerr.OutOfOrderSequenceNumber
	o.Transactional = p.CurrentTxnStartOffset >= 0
	var raw []byte
	switch d.intn(5) {
	case 0:
		o.BaseSequence += 1 + int32(d.intn(9))
	case 1:
		o.ProducerEpoch, o.BaseSequence = o.ProducerEpoch+1, 3
	case 2:
		if o.ProducerEpoch == 0 {
			return nil
		}
		o.ProducerEpoch--
		want = kerr.InvalidProducerEpoch
	case 3:
		if !o.Transactional {
			return nil
		}
		o.Transactional, want = false, kerr.InvalidTxnState
	case 4:
		if p.CoordinatorEpoch < 1 {
			return nil
		}
		opts.Origin, want = OriginCoordinator, kerr.TransactionCoordinatorFenced
		raw = d.end(o, p.CoordinatorEpoch-1)
	}
	if raw == nil {
		raw, _ = d.data(o)
	}
	info, err := d.l.Append(raw, opts)
	if errors.Is(err, kerr.KafkaStorageError) {
		return d.failed(err)
	}
	if kerror.CodeOf(err) != want.Code {
		return fmt.Errorf("answered %+v, %w; want %s", info, err, want.Message)
	}
	d.refused++
	return nil
}

// retry sends one of a producer's last five batches again. The log has it still unless it was compacted away or
// deleted.
func (d *driver) retry() error {
	o, p := d.producer()
	if p == nil || len(p.recent) == 0 {
		return nil
	}
	back := d.intn(min(len(p.recent), 5))
	last := p.recent[len(p.recent)-1-back]
	mayBeGone := back > 0 && (d.e.cfg.Compact || last.BaseOffset < (*d.l.segments.Load())[0].baseOffset)
	o.BaseSequence, o.Transactional = last.BaseSequence, last.Attributes.IsTransactional()
	b := testCodecs.NewBuilder(nil, o)
	for range last.NumRecords {
		b.Append(d.e.clk.Now().UnixMilli(), []byte("again"), []byte("again"))
	}
	raw, err := b.Build()
	if err != nil {
		return err
	}
	info, err := d.l.Append(raw, AppendOptions{LeaderEpoch: 1})
	switch {
	case errors.Is(err, kerr.KafkaStorageError):
		return d.failed(err)
	case mayBeGone && errors.Is(err, kerr.OutOfOrderSequenceNumber):
		return nil
	}
	if err != nil || !info.Duplicate || info.FirstOffset != last.BaseOffset || info.LastOffset != last.LastOffset() {
		return fmt.Errorf("answered %+v, %w; the batch is [%d, %d]", info, err, last.BaseOffset, last.LastOffset())
	}
	return nil
}

func (d *driver) moveHighWatermark() error {
	at := d.l.HighWatermark()
	d.watermark(at + int64(d.intn(int(d.led.end-at)+1)))
	return nil
}

func (d *driver) flush() error {
	if err := d.l.Flush(); err != nil {
		return d.failed(err)
	}
	d.led.must = d.led.end
	return nil
}

func (d *driver) roll() error {
	d.l.mu.Lock()
	defer d.l.mu.Unlock()
	_, err := d.l.roll(d.l.LogEndOffset())
	return d.failed(err)
}

func (d *driver) compact() error {
	if !d.e.cfg.Compact {
		return nil
	}
	d.decided = max(d.decided, d.l.HighWatermark())
	if d.reloaded {
		d.decided = d.led.end // Markers above the high watermark count too.
	}
	d.e.m.cleaner.pass()
	d.note("  cleaned up to %d, high watermark %d", d.l.cleaned.Load(), d.decided)
	if err := d.l.usable(); err != nil {
		return d.failed(err)
	}
	if p, err := d.l.cleanPlan(d.e.clk.Now()); err != nil || p.Due(0) {
		if d.failing {
			return nil
		}
		return fmt.Errorf("still due: %+v, %w\n%s", p, err, d.e.logs.String())
	}
	return nil
}

// wait lets removed files and tombstones go.
func (d *driver) wait() error {
	d.e.clk.Advance(2 * d.e.cfg.FileDeleteDelay)
	return nil
}

func (d *driver) truncate() error {
	from := d.led.start
	if d.e.cfg.Compact {
		from = max(from, d.l.cleaned.Load(), min(d.decided, d.led.end))
	}
	at := from + int64(d.intn(int(d.led.end-from)+1))
	was := d.led.must
	// The batch that has the offset goes whole, and with it what lies before the offset.
	after := d.led
	after.batches = slices.Clone(after.batches)
	after.truncate(at)
	d.led.must = min(d.led.must, after.end)
	d.led.minStart = min(d.led.minStart, after.end)
	if err := d.l.TruncateTo(at); err != nil {
		return d.failed(err)
	}
	d.led = after
	d.note("  at %d to %d", at, d.l.LogEndOffset())
	d.led.must = min(was, after.end)
	if at < d.led.end || after.end < was {
		d.led.must = after.end
	}
	d.led.minStart, d.led.maxStart = d.led.start, d.led.start
	d.reloaded = true
	d.decided = min(d.decided, d.led.end)
	return nil
}

func (d *driver) truncateFully() error {
	if d.intn(3) > 0 {
		return nil
	}
	at := int64(d.intn(int(d.led.end) + 20))
	d.led.must = 0
	d.led.minStart = 0
	d.led.maxStart = max(d.led.maxStart, at)
	if err := d.l.TruncateFullyAndStartAt(at); err != nil {
		return d.failed(err)
	}
	d.led = ledger{start: at, end: at, must: at, minStart: at, maxStart: at}
	d.decided, d.reloaded = 0, true
	d.note("  at %d", at)
	return nil
}

// started notes that the start is where it is, for good.
func (d *driver) started() {
	d.note("  start %d", d.l.LogStartOffset())
	d.led.start = d.l.LogStartOffset()
	d.led.minStart, d.led.maxStart = d.led.start, d.led.start
}

func (d *driver) deleteRecords() error {
	if d.snapshotLost {
		return nil
	}
	at := d.led.start + int64(d.intn(int(d.l.HighWatermark()-d.led.start)+1))
	d.led.maxStart = max(d.led.maxStart, at)
	if _, err := d.l.DeleteRecords(at); err != nil {
		return d.failed(err)
	}
	d.started()
	return nil
}

func (d *driver) retention() error {
	if d.snapshotLost {
		return nil
	}
	cfg := d.e.cfg
	cfg.RetentionBytes = int64(300 + d.intn(2000))
	d.l.UpdateConfig(cfg)
	d.led.maxStart = max(d.led.maxStart, d.l.HighWatermark())
	_, err := d.l.deleteOldSegments()
	d.l.UpdateConfig(d.e.cfg)
	if err != nil {
		return d.failed(err)
	}
	d.started()
	return nil
}

func (d *driver) checkpoint() error {
	d.e.m.checkpoint(d.e.m.checkpointRecoveryPoints)
	d.e.m.checkpoint(d.e.m.checkpointHighWatermarks)
	d.e.m.checkpoint(d.e.m.checkpointLogStarts)
	return d.failed(d.l.usable())
}

func (d *driver) stop() error {
	if err := d.e.m.Close(); err != nil {
		return d.failed(err)
	}
	d.led.must = d.led.end
	if err := d.open(); err != nil || d.dead {
		return err
	}
	return d.compareAll()
}

func (d *driver) kill() error {
	abandonAll(d.e)
	if err := d.open(); err != nil || d.dead {
		return err
	}
	return d.compareAll()
}

// damage stops the log and takes a file that can be made again away from it, or some of its bytes.
func (d *driver) damage() error {
	first := (*d.l.segments.Load())[0].baseOffset
	if d.failing || d.crashed {
		return nil
	}
	if d.intn(2) == 0 {
		abandonAll(d.e)
	} else if err := d.e.m.Close(); err != nil {
		return err
	}
	names, err := listFiles(d.e.fs, d.l.path)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		switch path.Ext(name) {
		case indexSuffix, timeIndexSuffix, txnIndexSuffix:
			return false
		case snapshotSuffix:
			// What was removed nobody else knows.
			return d.e.cfg.Compact || first > 0
		}
		return true
	})
	if len(names) > 0 {
		name := path.Join(d.l.path, names[d.intn(len(names))])
		d.note("  %s", name)
		d.snapshotLost = d.snapshotLost || path.Ext(name) == snapshotSuffix
		// That a segment has an index of transactions nobody else knows.
		if d.intn(2) == 0 && path.Ext(name) != txnIndexSuffix {
			err = d.e.fs.Remove(name)
		} else {
			err = spoil(d.e.fs, name)
		}
		if err != nil {
			return err
		}
	}
	if err := d.open(); err != nil {
		return err
	}
	return d.compareAll()
}

// spoil makes a file one byte longer than it may be.
func spoil(fs vfs.FS, name string) error {
	f, err := fs.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err == nil {
		_, err = f.WriteAt([]byte{7}, size)
	}
	return err
}
