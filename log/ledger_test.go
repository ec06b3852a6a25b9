package commitlog

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ottla/ottla/log/batch"
)

// ledger is what a log was given, without files: every batch that wasn't cut off again. What follows from
// it, producers, stable offsets and aborted transactions, is computed from the beginning each time it is
// asked for.
type ledger struct {
	batches []entered
	// start is the log's start, end its end.
	start, end int64
	// must is the end offset that a flush promised; minStart and maxStart bound the start. They matter after
	// a failure.
	must, minStart, maxStart int64
	// maybe is an append that failed: it may be there after all.
	maybe *entered
	// emptied says that a crash left no batches. Then producers of some prefix are remembered, from a snapshot.
	emptied bool
}

// entered is one batch.
type entered struct {
	batch.Header
	records []keyedRecord
	// What a marker says.
	control, commit  bool
	coordinatorEpoch int32
	timestamp        int64
}

// wrote is what is known of a producer.
type wrote struct {
	ActiveProducer
	// recent are the data batches of its last epoch.
	recent []entered
}

// abortedTxn is a transaction that a marker aborted.
type aborted struct {
	id, first, last int64
}

// add takes a batch in.
func (g *ledger) add(b entered) {
	g.batches = append(g.batches, b)
	g.end = b.LastOffset() + 1
	g.maybe = nil
}

// truncate removes the batches that reach offset.
func (g *ledger) truncate(offset int64) {
	if offset >= g.end {
		return
	}
	g.end = offset
	if i := slices.IndexFunc(g.batches, func(b entered) bool { return b.LastOffset() >= offset }); i >= 0 {
		g.end = min(offset, g.batches[i].BaseOffset)
		g.batches = g.batches[:i]
	}
	g.start = min(g.start, g.end)
}

// producers are all that ever wrote.
func (g *ledger) producers() map[int64]*wrote {
	all := map[int64]*wrote{}
	for i := range g.batches {
		b := &g.batches[i]
		if b.ProducerID < 0 {
			continue
		}
		p := all[b.ProducerID]
		if p == nil {
			p = &wrote{}
			p.ProducerID, p.ProducerEpoch, p.LastSequence = b.ProducerID, -1, -1
			p.CoordinatorEpoch, p.CurrentTxnStartOffset = -1, -1
			all[b.ProducerID] = p
		}
		if b.ProducerEpoch != p.ProducerEpoch {
			p.ProducerEpoch, p.LastSequence, p.recent = b.ProducerEpoch, -1, nil
		}
		p.LastTimestampMs = b.timestamp
		if b.control {
			p.CoordinatorEpoch, p.CurrentTxnStartOffset = b.coordinatorEpoch, -1
			continue
		}
		p.recent = append(p.recent, *b)
		p.LastSequence = b.LastSequence()
		if b.Attributes.IsTransactional() && p.CurrentTxnStartOffset < 0 {
			p.CurrentTxnStartOffset = b.BaseOffset
		}
	}
	return all
}

// transactions are the aborted ones by their markers, and the first offset that isn't stable at a high
// watermark, NoLimit if all are. With decided, transactions whose marker lies above the high watermark
// count as stable.
func (g *ledger) transactions(highWatermark int64, decided bool) (all []aborted, firstUnstable int64) {
	open := map[int64]int64{}
	firstUnstable = NoLimit
	for i := range g.batches {
		b := &g.batches[i]
		first, isOpen := open[b.ProducerID]
		switch {
		case b.control:
			delete(open, b.ProducerID)
			if isOpen && !b.commit {
				all = append(all, aborted{b.ProducerID, first, b.BaseOffset})
			}
			if isOpen && b.BaseOffset >= highWatermark && !decided {
				firstUnstable = min(firstUnstable, first)
			}
		case b.Attributes.IsTransactional() && !isOpen:
			open[b.ProducerID] = b.BaseOffset
		}
	}
	for _, first := range open {
		firstUnstable = min(firstUnstable, first)
	}
	if firstUnstable != NoLimit {
		firstUnstable = max(firstUnstable, g.start)
	}
	return all, firstUnstable
}

// emptyAborts are the markers of aborts that ended no transaction.
func (g *ledger) emptyAborts() (list []aborted) {
	open := map[int64]bool{}
	for i := range g.batches {
		b := &g.batches[i]
		if b.control && !b.commit && !open[b.ProducerID] {
			list = append(list, aborted{b.ProducerID, b.BaseOffset, b.BaseOffset})
		}
		if b.Attributes.IsTransactional() {
			open[b.ProducerID] = !b.control
		}
	}
	return list
}

// fate is what became of the batches' transactions.
type fate int8

const (
	visible fate = iota // committed, or in no transaction
	undecided
	gone // aborted
)

// fates says it of each batch.
func (g *ledger) fates() []fate {
	out := make([]fate, len(g.batches))
	open := map[int64][]int{}
	for i := range g.batches {
		b := &g.batches[i]
		switch {
		case b.control:
			for _, j := range open[b.ProducerID] {
				out[j] = visible
				if !b.commit {
					out[j] = gone
				}
			}
			delete(open, b.ProducerID)
		case b.Attributes.IsTransactional():
			out[i] = undecided
			open[b.ProducerID] = append(open[b.ProducerID], i)
		}
	}
	return out
}

// settle makes the ledger that of a log that was opened again after a failure, which may have lost its end.
func (g *ledger) settle(l *Log) error {
	start, end := l.LogStartOffset(), l.LogEndOffset()
	if start < g.minStart || start > max(g.minStart, g.maxStart) {
		return fmt.Errorf("the log starts at %d, which is outside of [%d, %d]", start, g.minStart, g.maxStart)
	}
	if g.maybe != nil {
		g.add(*g.maybe)
	}
	if end < g.must || end > max(g.end, start) {
		return fmt.Errorf("the log ends at %d, which is outside of [%d, %d]", end, g.must, g.end)
	}
	if start == end && !slices.ContainsFunc(g.batches, func(b entered) bool { return b.LastOffset()+1 == end }) {
		// All that was left was lost, or a full truncation came so far.
		*g = ledger{start: start, end: start, emptied: true}
		return nil
	}
	g.emptied = false
	g.truncate(end)
	if g.end != end {
		return fmt.Errorf("the log ends at %d, in the middle of a batch", end)
	}
	g.start = start
	return nil
}

// compare demands that a log is what the ledger says. strict is for a log that no failure has touched: then
// nothing is missing beyond what was compacted. reloaded says that its producers were read from files since
// the high watermark moved: of a transaction whose marker lies above it a snapshot says only that it has ended.
func (g *ledger) compare(l *Log, strict, reloaded bool) error {
	if l.LogStartOffset() != g.start || l.LogEndOffset() != g.end {
		return fmt.Errorf("[%d, %d), want [%d, %d)", l.LogStartOffset(), l.LogEndOffset(), g.start, g.end)
	}
	highWatermark := l.HighWatermark()
	if highWatermark < g.start || highWatermark > g.end || l.RecoveryPoint() > g.end {
		return fmt.Errorf("high watermark %d, recovery point %d outside of [%d, %d]", highWatermark, l.RecoveryPoint(), g.start, g.end)
	}
	all, firstUnstable := g.transactions(highWatermark, false)
	lastStable := l.LastStableOffset()
	_, decided := g.transactions(highWatermark, true)
	exact, highest := min(highWatermark, firstUnstable), min(highWatermark, decided)
	if !reloaded {
		highest = exact
	}
	if lastStable < exact || lastStable > highest {
		return fmt.Errorf("last stable offset %d at high watermark %d, want %d to %d", lastStable, highWatermark, exact, highest)
	}
	if err := g.compareProducers(l); err != nil {
		return err
	}
	return g.compareRecords(l, all, strict)
}

// compareProducers demands that exactly the producers of the ledger are remembered.
func (g *ledger) compareProducers(l *Log) error {
	want := g.producers()
	active := l.ActiveProducers()
	if len(active) != len(want) {
		return fmt.Errorf("%d producers are remembered, want %d: %+v", len(active), len(want), active)
	}
	for _, p := range active {
		w := want[p.ProducerID]
		if w == nil || w.ActiveProducer != p {
			return fmt.Errorf("producer %+v, want %+v", p, w)
		}
	}
	return nil
}

// compareRecords reads everything as consumers of both isolation levels do.
func (g *ledger) compareRecords(l *Log, all []aborted, strict bool) error {
	cfg := l.settings.Load()
	fates := g.fates()
	var empty []aborted
	if cfg.Compact {
		empty = g.emptyAborts()
	}
	whole := int64(0) // From here on nothing may be missing.
	if cfg.Compact {
		whole = NoLimit
		if strict {
			whole = max(0, l.cleaned.Load())
		}
	}
	found, latest := map[int64]bool{}, map[string]int64{}
	i := 0
	for at := g.start; at < g.end; {
		o := ReadOptions{Offset: at, MaxBytes: 700, MinOneBatch: true, UpperBound: NoLimit, Aborted: true}
		bs, list, err := readAborted(l, o)
		if err != nil {
			return fmt.Errorf("read at %d: %w", at, err)
		}
		if len(bs) == 0 {
			break
		}
		end := bs[len(bs)-1].NextOffset()
		if err := checkAborted(l, list, all, empty, at, end, whole < NoLimit && at >= whole); err != nil {
			return fmt.Errorf("read of [%d, %d): %w", at, end, err)
		}
		dropped := dropAborted(bs, list)
		for j := range bs {
			b := &bs[j]
			for i < len(g.batches) && g.batches[i].BaseOffset < b.BaseOffset {
				i++
			}
			if i == len(g.batches) || !sameBatch(&g.batches[i], b) {
				return fmt.Errorf("batch [%d, %d] of producer %d/%d sequence %d wasn't written there", b.BaseOffset, b.LastOffset(),
					b.ProducerID, b.ProducerEpoch, b.BaseSequence)
			}
			if i < len(fates) && dropped[j] != (fates[i] == gone) && b.NumRecords > 0 {
				return fmt.Errorf("a read_committed consumer drops batch [%d, %d]: %t, its transaction's fate is %d", b.BaseOffset, b.LastOffset(), dropped[j], fates[i])
			}
			if err := g.checkRecords(b, &g.batches[i], fates[i], found, latest); err != nil {
				return err
			}
		}
		at = end
	}
	return g.missing(fates, found, latest, whole)
}

// missing demands that what isn't there may be missing.
func (g *ledger) missing(fates []fate, found map[int64]bool, latest map[string]int64, whole int64) error {
	last := map[string]int64{}
	tombstone := map[string]bool{}
	for i := range g.batches {
		for j, r := range g.batches[i].records {
			if fates[i] == visible {
				last[r.key] = g.batches[i].BaseOffset + int64(j)
				tombstone[r.key] = r.value == ""
			}
		}
	}
	for i := range g.batches {
		for j, r := range g.batches[i].records {
			o := g.batches[i].BaseOffset + int64(j)
			if o < g.start || found[o] {
				continue
			}
			if o >= whole || fates[i] == undecided {
				return fmt.Errorf("the record at offset %d is missing, where nothing is compacted from %d on", o, whole)
			}
			if fates[i] == visible && last[r.key] == o && !tombstone[r.key] {
				return fmt.Errorf("the last record of %s, at offset %d, is missing", r.key, o)
			}
		}
	}
	for key, o := range latest {
		if last[key] != o && (last[key] >= g.start) {
			return fmt.Errorf("%s has its last record at offset %d, it was written at %d", key, o, last[key])
		}
	}
	return nil
}

// checkRecords demands that the records of a batch are some of those that were written.
func (g *ledger) checkRecords(b *batch.Batch, w *entered, f fate, found map[int64]bool, latest map[string]int64) error {
	if w.control {
		if b.NumRecords == 0 {
			return nil // Compacted, for the epoch that it has.
		}
		m, _, ok, err := b.EndTxnMarker()
		if err != nil || !ok || m.Commit != w.commit || m.CoordinatorEpoch != w.coordinatorEpoch {
			return fmt.Errorf("marker at offset %d: %+v, %v, %w", b.BaseOffset, m, ok, err)
		}
		return nil
	}
	rr, err := testCodecs.Records(b, 1<<20)
	if err != nil {
		return err
	}
	defer rr.Close()
	var r batch.Record
	for rr.Next(&r) {
		i := r.Offset - w.BaseOffset
		if i < 0 || i >= int64(len(w.records)) || w.records[i] != (keyedRecord{string(r.Key), string(r.Value)}) {
			return fmt.Errorf("offset %d has %s=%s, which wasn't written there", r.Offset, r.Key, r.Value)
		}
		if found[r.Offset] {
			return fmt.Errorf("offset %d comes twice", r.Offset)
		}
		found[r.Offset] = true
		if f == visible {
			latest[string(r.Key)] = r.Offset
		}
	}
	return rr.Err()
}

// sameBatch compares what identifies a batch.
func sameBatch(w *entered, b *batch.Batch) bool {
	return w.BaseOffset == b.BaseOffset && w.LastOffset() == b.LastOffset() && w.ProducerID == b.ProducerID &&
		w.ProducerEpoch == b.ProducerEpoch && w.BaseSequence == b.BaseSequence &&
		w.control == b.Attributes.IsControl() && w.Attributes.IsTransactional() == b.Attributes.IsTransactional()
}

// readAborted is readBatches with the list of aborted transactions.
func readAborted(l *Log, o ReadOptions) ([]batch.Batch, []AbortedTransaction, error) {
	info, err := l.Read(o)
	if err != nil || info.Records == nil {
		return nil, nil, err
	}
	info.Records.Release()
	bs, err := readBatches(l, o)
	return bs, info.Aborted, err
}

// checkAborted demands that a read's list has the aborted transactions that overlap its range, and no other
// ones than overlap its segment. Where it was compacted those without a record left may be missing, and others
// may begin elsewhere if their index had to be made again: with the first batch that is left, or with a
// transaction before it of which neither records nor marker are left. Such a transaction, which a snapshot tells
// to be open, may also seem to end with a later marker that ended nothing: empty has those of a log that is
// compacted. What consumers make of it is compared apart.
func checkAborted(l *Log, list []AbortedTransaction, all, empty []aborted, from, end int64, exact bool) error {
	compacted := l.settings.Load().Compact
	segs := *l.segments.Load()
	bound := l.LogEndOffset()
	if i := floorSegment(segs, from); i+1 < len(segs) {
		bound = max(segs[i+1].baseOffset, end) // The read may begin in the next segment.
	}
	for i := floorSegment(segs, from); i < len(segs) && segs[i].baseOffset < end; i++ {
		bound = l.LogEndOffset()
		if i+1 < len(segs) {
			bound = segs[i+1].baseOffset
		}
	}
	if !slices.IsSortedFunc(list, func(a, b AbortedTransaction) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) }) {
		return fmt.Errorf("aborted transactions are not in order: %v", list)
	}
	for _, t := range list {
		overlaps := func(a aborted) bool { return a.id == t.ProducerID && a.last >= from && t.FirstOffset < bound }
		whole := func(a aborted) bool { return overlaps(a) && a.first == t.FirstOffset }
		shortened := func(a aborted) bool { return overlaps(a) && t.FirstOffset < a.last }
		if !slices.ContainsFunc(all, whole) && (!compacted || !slices.ContainsFunc(all, shortened) && !slices.ContainsFunc(empty, shortened)) {
			return fmt.Errorf("the list has %+v; there are %v, bound %d", t, all, bound)
		}
	}
	for _, a := range all {
		if exact && a.last >= from && a.first < end && !slices.Contains(list, AbortedTransaction{ProducerID: a.id, FirstOffset: a.first}) {
			return fmt.Errorf("the list %v lacks %+v", list, a)
		}
	}
	return nil
}

// dropAborted says of which batches a read_committed consumer drops the records.
func dropAborted(bs []batch.Batch, list []AbortedTransaction) []bool {
	out := make([]bool, len(bs))
	in := map[int64]bool{}
	for i := range bs {
		b := &bs[i]
		for len(list) > 0 && list[0].FirstOffset <= b.LastOffset() {
			in[list[0].ProducerID] = true
			list = list[1:]
		}
		if m, _, ok, err := b.EndTxnMarker(); err == nil && ok {
			if !m.Commit {
				delete(in, b.ProducerID)
			}
			continue
		}
		out[i] = b.Attributes.IsTransactional() && in[b.ProducerID]
	}
	return out
}
