package commitlog

import (
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/datadriven"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// put appends a batch of the lines "key=value", "key" being a tombstone, or a transaction's marker.
func (r *runner) put(out io.Writer, d *datadriven.TestData) error {
	o := batch.DefaultOptions()
	o.Codec = batch.Codec(r.int(d, "codec", 0))
	o.ProducerID, o.ProducerEpoch = r.int(d, "id", -1), int16(r.int(d, "epoch", -1))
	o.BaseSequence = int32(r.int(d, "sequence", -1))
	o.Transactional = d.HasArg("txn")
	now := r.e.clk.Now().UnixMilli()
	var raw []byte
	origin := OriginClient
	if d.Cmd == "marker" {
		raw = batch.AppendEndTxnMarker(nil, now, o.ProducerID, o.ProducerEpoch, batch.EndTxnMarker{Commit: d.HasArg("commit")})
		origin = OriginCoordinator
	} else {
		b := testCodecs.NewBuilder(nil, o)
		for line := range strings.Lines(d.Input) {
			key, value, set := strings.Cut(strings.TrimSpace(line), "=")
			if set {
				b.Append(now, []byte(key), []byte(value))
			} else {
				b.Append(now, []byte(key), nil)
			}
		}
		var err error
		if raw, err = b.Build(); err != nil {
			return err
		}
	}
	info, err := r.l.Append(raw, AppendOptions{Origin: origin})
	if err != nil {
		return err
	}
	r.l.SetHighWatermark(r.l.LogEndOffset())
	_, err = fmt.Fprintf(out, "[%d, %d]\n", info.FirstOffset, info.LastOffset)
	return err
}

// records lists all batches by segment, and their records.
func (r *runner) records(out io.Writer) error {
	for _, s := range *r.l.segments.Load() {
		fmt.Fprintf(out, "segment %d\n", s.baseOffset)
		err := r.l.scanSegment(s, 0, NoLimit, func(_ *segment, f vfs.File, h *batch.Header, pos int64) error {
			b, err := readBatch(f, h, pos)
			if err != nil {
				return err
			}
			return describeBatch(out, &b)
		})
		if err != nil {
			return err
		}
		aborted, _, err := s.txns.Collect(nil, 0, NoLimit)
		if err != nil {
			return err
		}
		for _, t := range aborted {
			fmt.Fprintf(out, "  aborted: producer %d from %d, marker at %d\n", t.ProducerID, t.FirstOffset, t.LastOffset)
		}
	}
	return nil
}

// describeBatch writes a line for a batch and one for each record.
func describeBatch(out io.Writer, b *batch.Batch) error {
	if err := b.CheckCRC(); err != nil {
		return err
	}
	fmt.Fprintf(out, "  [%d, %d]", b.BaseOffset, b.LastOffset())
	if c := b.Attributes.Codec(); c != batch.None {
		fmt.Fprintf(out, " %s", c)
	}
	if b.HasProducerID() {
		fmt.Fprintf(out, " producer %d/%d", b.ProducerID, b.ProducerEpoch)
		if b.BaseSequence >= 0 {
			fmt.Fprintf(out, " sequence %d-%d", b.BaseSequence, b.LastSequence())
		}
	}
	if ms, ok := b.DeleteHorizonMs(); ok {
		fmt.Fprintf(out, " horizon +%dms", ms-testStart.UnixMilli())
	}
	if m, _, ok, err := b.EndTxnMarker(); err != nil {
		return err
	} else if ok {
		fmt.Fprintf(out, " marker commit=%t\n", m.Commit)
		return nil
	}
	fmt.Fprintf(out, " %d records:", b.NumRecords)
	rr, err := testCodecs.Records(b, 1<<20)
	if err != nil {
		return err
	}
	defer rr.Close()
	var rec batch.Record
	for rr.Next(&rec) {
		fmt.Fprintf(out, " %d:%s", rec.Offset, rec.Key)
		if rec.Value != nil {
			fmt.Fprintf(out, "=%s", rec.Value)
		}
	}
	fmt.Fprintln(out)
	return rr.Err()
}

// plan tells what a compaction would do.
func (r *runner) plan(out io.Writer) error {
	p, err := r.l.cleanPlan(r.e.clk.Now())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "dirty=%d uncleanable=%d ratio=%.2f overdue=%t due=%t\n", p.FirstDirtyOffset,
		p.FirstUncleanableOffset, p.DirtyRatio(), p.Overdue, p.Due(r.e.cfg.MinCleanableDirtyRatio))
	return err
}

// compacted tells what the compactions of a pass logged.
func (r *runner) compacted(out io.Writer) {
	for line := range strings.Lines(r.e.logs.String()) {
		if _, what, ok := strings.Cut(line, `msg="compacted log" partition=t-0 `); ok {
			what, _, _ = strings.Cut(what, " bytesBefore")
			_, counts, _ := strings.Cut(line, "recordsRead")
			counts, _, _ = strings.Cut(counts, " duration")
			fmt.Fprintf(out, "%s recordsRead%s\n", what, counts)
		}
	}
	logs := r.e.logs.String()
	r.e.logs.Reset()
	for line := range strings.Lines(logs) {
		if !strings.Contains(line, "level=INFO") {
			r.e.logs.WriteString(line)
		}
	}
}
