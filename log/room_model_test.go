package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/epoch"
)

// Producers of the model: idempotent numbers its batches, aborting opens transactions and aborts them.
const (
	idempotent = 7
	aborting   = 9
)

// full is a log on a device that is full again and again, in a process that runs out of descriptors as often, and what it
// must hold.
type full struct {
	t     *testing.T
	rng   *rand.Rand
	mem   *vfs.Mem
	short want
	e     *env
	l     *Log
	// gens has the number of the write at each offset, 0 for a marker.
	gens   []uint64
	writes uint64
	start  int64
	// epoch is the newest leader epoch, epochs are those that have records, and it.
	epoch  int32
	epochs []epoch.Entry
	// flushed is the end offset that a flush promised.
	flushed int64
	// sequence is the idempotent producer's next one; last is its last acknowledged batch, at lastAt.
	sequence int32
	last     []byte
	lastAt   int64
	// open is where the open transaction began, -1 outside; aborted are the ended ones.
	open    int64
	aborted []AbortedTransaction
	refused int
}

// build makes a batch of the next write.
func (f *full) build(o batch.BuilderOptions, n int) []byte {
	f.writes++
	b := testCodecs.NewBuilder(nil, o)
	for range n {
		v := make([]byte, 8+f.rng.IntN(60))
		binary.BigEndian.PutUint64(v, f.writes)
		b.Append(testStart.UnixMilli()+int64(f.writes), nil, v)
	}
	out, err := b.Build()
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

// append appends a batch whose records are noted as gen, and reports whether it was taken.
func (f *full) append(raw []byte, gen uint64, o AppendOptions) bool {
	f.t.Helper()
	end, size, latest := f.l.LogEndOffset(), f.l.SizeBytes(), f.l.LatestEpoch()
	info, err := f.l.Append(raw, o)
	if err == nil {
		if info.FirstOffset != end || info.Duplicate {
			f.t.Fatalf("appended at %d (duplicate %t), want %d", info.FirstOffset, info.Duplicate, end)
		}
		for o := info.FirstOffset; o <= info.LastOffset; o++ {
			f.gens = append(f.gens, gen)
		}
		if f.e.cfg.FlushMessages == 1 {
			f.flushed = f.l.LogEndOffset()
		}
		return true
	}
	if !IsScarce(err) || !errors.Is(err, kerr.KafkaStorageError) {
		f.t.Fatalf("append: %v", err)
	}
	if f.l.LogEndOffset() != end || f.l.SizeBytes() != size || f.l.LatestEpoch() != latest {
		f.t.Fatalf("after a refusal: end %d, %d bytes, epoch %d; before it %d, %d, %d",
			f.l.LogEndOffset(), f.l.SizeBytes(), f.l.LatestEpoch(), end, size, latest)
	}
	f.refused++
	return false
}

func (f *full) step() {
	f.t.Helper()
	o := batch.DefaultOptions()
	client := AppendOptions{LeaderEpoch: f.epoch}
	switch op := f.rng.IntN(22); op {
	case 0, 1, 2, 3:
		f.append(f.build(o, 1+f.rng.IntN(8)), f.writes, client)
	case 4, 5, 6:
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = idempotent, 0, f.sequence
		n := 1 + f.rng.IntN(3)
		raw := f.build(o, n)
		if at, again := f.l.LogEndOffset(), slices.Clone(raw); f.append(raw, f.writes, client) {
			f.sequence, f.last, f.lastAt = f.sequence+int32(n), again, at
		}
	case 7: // Sent again, however full the device is.
		if f.last == nil {
			return
		}
		info, err := f.l.Append(slices.Clone(f.last), client)
		if f.short.Load() && errors.Is(err, ErrNoDescriptors) {
			return // What an earlier life left can't be flushed.
		}
		if err != nil || !info.Duplicate || info.FirstOffset != f.lastAt {
			f.t.Fatalf("a batch that is stored at %d was answered %+v, %v", f.lastAt, info, err)
		}
	case 8: // A follower learns of a new leader with its records.
		at := f.l.LogEndOffset()
		o.LeaderEpoch, o.BaseOffset = f.epoch+1, at
		if f.append(f.build(o, 2), f.writes, AppendOptions{LeaderEpoch: o.LeaderEpoch, Origin: OriginReplication}) {
			f.epoch++
			f.epochs = slices.DeleteFunc(f.epochs, func(e epoch.Entry) bool { return e.StartOffset >= at })
			f.epochs = append(f.epochs, epoch.Entry{Epoch: o.LeaderEpoch, StartOffset: at})
		}
	case 9:
		f.lead()
	case 10, 11:
		f.transaction(o, client)
	case 12:
		err := f.l.Flush()
		if f.short.Load() && errors.Is(err, ErrNoDescriptors) {
			return
		}
		if err != nil {
			f.t.Fatal(err)
		}
		f.flushed = f.l.LogEndOffset()
	case 13:
		f.delete()
	case 14:
		f.e.m.checkpoint(f.e.m.checkpointRecoveryPoints)
		f.e.m.checkpoint(f.e.m.checkpointHighWatermarks)
	case 15, 16, 17:
		u, err := f.mem.Usage("/")
		if err != nil {
			f.t.Fatal(err)
		}
		f.mem.SetCapacity(u.TotalBytes - u.FreeBytes + int64(f.rng.IntN(700)))
	case 18:
		f.mem.SetCapacity(0)
		f.short.Store(false)
	case 19:
		f.e.clk.Advance(2 * time.Minute)
	case 20, 21:
		f.short.Store(true)
		f.e.m.pool.Shrink()
	}
}

// transaction begins one, or aborts the one that is open.
func (f *full) transaction(o batch.BuilderOptions, client AppendOptions) {
	f.t.Helper()
	if f.open < 0 {
		o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = aborting, int16(len(f.aborted)), 0, true
		if at := f.l.LogEndOffset(); f.append(f.build(o, 1), f.writes, client) {
			f.open = at
		}
		return
	}
	marker := batch.AppendEndTxnMarker(nil, testStart.UnixMilli(), aborting, int16(len(f.aborted)), batch.EndTxnMarker{})
	if f.append(marker, 0, AppendOptions{LeaderEpoch: f.epoch, Origin: OriginCoordinator}) {
		f.aborted = append(f.aborted, AbortedTransaction{ProducerID: aborting, FirstOffset: f.open})
		f.open = -1
	}
}

func (f *full) delete() {
	f.t.Helper()
	f.l.SetHighWatermark(f.l.LogEndOffset())
	// Transactions stay, so that the model needn't know how they end with their beginning.
	limit := f.l.LogEndOffset()
	if f.open >= 0 {
		limit = f.open
	}
	if len(f.aborted) > 0 {
		limit = min(limit, f.aborted[0].FirstOffset)
	}
	if f.last != nil {
		limit = min(limit, f.lastAt)
	}
	to := f.start
	if limit > f.start {
		to += f.rng.Int64N(limit - f.start + 1)
	}
	got, err := f.l.DeleteRecords(to)
	if err != nil && !IsScarce(err) || err == nil && got != to {
		f.t.Fatalf("delete below %d: %d, %v", to, got, err)
	}
	if now := f.l.LogStartOffset(); now < f.start || now > to {
		f.t.Fatalf("start %d outside of [%d, %d]", now, f.start, to)
	}
	f.start = f.l.LogStartOffset()
	if _, err := f.l.deleteOldSegments(); err != nil && !IsScarce(err) {
		f.t.Fatal(err)
	}
}

// reopen opens what fs holds; a full device may be too full for it.
func (f *full) reopen(fs *vfs.Mem) {
	f.t.Helper()
	f.short.Store(false)
	f.mem, f.e.fs = fs, vfs.NewInject(fs, f.short.fail)
	for {
		if err := f.e.open(); err != nil {
			f.t.Fatalf("open: %v", err)
		}
		l, err := f.e.log()
		if err == nil {
			f.l = l
			break
		}
		if !errors.Is(err, ErrNoRoom) || f.e.m.Dirs()[0].Err != nil {
			f.t.Fatal(err)
		}
		abandonAll(f.e)
		f.mem.SetCapacity(0)
	}
	f.l.SetHighWatermark(f.l.LogEndOffset())
	// An epoch that began at the end has no record that tells of it.
	f.epochs = slices.DeleteFunc(f.epochs, func(e epoch.Entry) bool { return e.StartOffset >= f.l.LogEndOffset() })
	f.lead()
}

// lead begins a leader epoch.
func (f *full) lead() {
	f.t.Helper()
	f.epoch++
	end := f.l.LogEndOffset()
	f.epochs = slices.DeleteFunc(f.epochs, func(e epoch.Entry) bool { return e.StartOffset >= end })
	f.epochs = append(f.epochs, epoch.Entry{Epoch: f.epoch, StartOffset: end})
	if err := f.l.AssignEpoch(f.epoch, end); err != nil {
		f.t.Fatal(err)
	}
}

// check compares the log with what it must hold.
func (f *full) check() error {
	defer f.short.Store(f.short.Swap(false))
	if err := f.checkRecords(); err != nil {
		return err
	}
	return f.checkState()
}

// checkRecords looks at the directory, the log's ends and all its records.
func (f *full) checkRecords() error {
	if err := f.e.m.Dirs()[0].Err; err != nil {
		return err
	}
	if f.l.LogEndOffset() != int64(len(f.gens)) || f.l.LogStartOffset() != f.start {
		return fmt.Errorf("the log is [%d, %d), want [%d, %d)", f.l.LogStartOffset(), f.l.LogEndOffset(), f.start, len(f.gens))
	}
	f.l.SetHighWatermark(f.l.LogEndOffset())
	at := f.start
	for at < f.l.LogEndOffset() {
		bs, err := readBatches(f.l, ReadOptions{Offset: at, MaxBytes: 1 << 20, MinOneBatch: true, UpperBound: NoLimit})
		if err != nil || len(bs) == 0 {
			return fmt.Errorf("read at %d: %d batches, %w", at, len(bs), err)
		}
		for i := range bs {
			rr, err := testCodecs.Records(&bs[i], 1<<20)
			if err != nil {
				return err
			}
			var r batch.Record
			for rr.Next(&r) {
				if r.Offset >= f.start && r.Offset != at {
					return fmt.Errorf("offset %d where %d comes next", r.Offset, at)
				}
				var gen uint64
				if !bs[i].Attributes.IsControl() {
					gen = binary.BigEndian.Uint64(r.Value)
				}
				if gen != f.gens[r.Offset] {
					return fmt.Errorf("offset %d has write %d, want %d", r.Offset, gen, f.gens[r.Offset])
				}
				at = max(at, r.Offset+1)
			}
			rr.Close()
		}
	}
	return nil
}

// checkState looks at what stands beside the records.
func (f *full) checkState() error {
	for i, e := range f.epochs {
		want := f.l.LogEndOffset()
		if i+1 < len(f.epochs) {
			want = f.epochs[i+1].StartOffset
		}
		if got := f.l.EpochEndOffset(e.Epoch); want > f.start && got != (EpochEnd{e.Epoch, want}) {
			return fmt.Errorf("epoch %d ends at %+v, want %d", e.Epoch, got, want)
		}
	}
	var aborted []AbortedTransaction
	for _, s := range *f.l.segments.Load() {
		entries, _, err := s.txns.Collect(nil, 0, f.l.LogEndOffset()+1)
		if err != nil {
			return err
		}
		for _, t := range entries {
			aborted = append(aborted, AbortedTransaction{t.ProducerID, t.FirstOffset})
		}
	}
	if !slices.Equal(aborted, f.aborted) {
		return fmt.Errorf("aborted transactions %v, want %v", aborted, f.aborted)
	}
	if open := f.l.firstUnstable.Load(); f.open >= 0 && open != f.open || f.open < 0 && open != NoLimit {
		return fmt.Errorf("first unstable offset %d, want %d", open, f.open)
	}
	if f.last == nil {
		return nil
	}
	info, err := f.l.Append(slices.Clone(f.last), AppendOptions{LeaderEpoch: f.epoch})
	if err != nil || !info.Duplicate || info.FirstOffset != f.lastAt {
		return fmt.Errorf("the last batch of the producer, at %d, sent again: %+v, %w", f.lastAt, info, err)
	}
	return nil
}

// forget takes back what a loss of power may take, to the end that the log has now.
func (f *full) forget() error {
	end := f.l.LogEndOffset()
	if end < f.flushed {
		return fmt.Errorf("the log ends at %d, %d was flushed", end, f.flushed)
	}
	f.gens = f.gens[:end]
	f.start = f.l.LogStartOffset()
	f.epochs = slices.DeleteFunc(f.epochs, func(e epoch.Entry) bool { return e.StartOffset >= end })
	f.aborted, f.open, f.last = nil, -1, nil
	return nil
}

// TestFullDisk lets the device of a log be full, and the process be without descriptors, again and again while all kinds of
// things are done with it, kills and restarts it: what was acknowledged is there, what was refused isn't, the directory
// stays in service, and once there is room everything goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	refused := 0
	seeds := uint64(150)
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		f := &full{
			t: t, rng: rand.New(rand.NewPCG(seed, 1)), mem: vfs.NewMem(), open: -1,
		}
		f.e = newEnv(f.mem)
		f.e.cfg.SegmentBytes = int32(800 + f.rng.IntN(1500))
		f.e.cfg.IndexIntervalBytes = int32(1 + f.rng.IntN(200))
		f.e.cfg.Preallocate = seed%5 == 0
		if seed%7 == 0 {
			f.e.cfg.FlushMessages = 1
		}
		if !f.run() {
			t.Fatalf("seed %d\n%s", seed, f.e.logs.String())
		}
		refused += f.refused
	}
	if refused < 4*int(seeds) {
		t.Errorf("only %d appends were refused", refused)
	}
}

func (f *full) run() (ok bool) {
	fail := func(what string, err error) bool {
		f.t.Errorf("%s: %v", what, err)
		return false
	}
	f.reopen(f.mem)
	for i := range 120 {
		f.step()
		f.e.m.flusher.idle()
		var err error
		switch f.rng.IntN(25) {
		case 0:
			abandonAll(f.e)
			f.reopen(f.mem)
		case 1:
			if err = f.e.m.Close(); IsScarce(err) {
				err = nil
			}
			f.reopen(f.mem)
		}
		if err == nil {
			err = f.check()
		}
		if err != nil {
			return fail(fmt.Sprintf("step %d", i), err)
		}
	}
	f.mem.SetCapacity(0)
	f.short.Store(false)
	if !f.append(f.build(batch.DefaultOptions(), 1), f.writes, AppendOptions{LeaderEpoch: f.epoch}) {
		return fail("append", errors.New("refused although there is room"))
	}
	f.e.m.flusher.idle()
	abandonAll(f.e)
	// A loss of power takes what wasn't flushed, and nothing else.
	f.reopen(f.mem.AfterCrash(f.rng))
	if err := f.forget(); err != nil {
		return fail("after a crash", err)
	}
	if err := f.checkRecords(); err != nil {
		return fail("after a crash", err)
	}
	return f.e.m.Close() == nil
}
