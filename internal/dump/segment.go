package dump

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"

	"github.com/ottla/ottla/internal/record/raftcontrol"
	"github.com/ottla/ottla/log/batch"
)

// noOffset stands for "no record yet".
const noOffset = -1

// maxRemarks bounds the remarks of one kind about one file.
const maxRemarks = 1000

// segment dumps the batches of a .log file. A batch whose checksum is wrong is told and passed over;
// where no next batch can be found the dump of the file ends.
func (d *dumper) segment(name string) error {
	f, err := d.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	end := min(f.size, d.opts.MaxBytes)
	offsets := follower{last: noOffset}
	position := int64(0)
	for position < end {
		h, err := f.header(position, end)
		if errors.Is(err, io.EOF) {
			d.trailing(f, position, end)
			break
		}
		var c corrupt
		if errors.As(err, &c) {
			d.damage(name, position, c.Error())
			break
		}
		if err != nil {
			return err
		}
		if err := d.batch(f, position, &h, &offsets); err != nil {
			return err
		}
		position += int64(h.SizeBytes())
	}
	if len(offsets.gaps) > 0 {
		d.remark("Non-consecutive offsets in %s\n", name)
		for _, g := range offsets.gaps {
			d.remark("  %d is followed by %d\n", g[0], g[1])
		}
	}
	return nil
}

// trailing tells of bytes at the end that are no whole batch. The end of what MaxBytes lets through is
// no damage.
func (d *dumper) trailing(f *source, position, end int64) {
	if d.opts.MaxBytes != unlimited || position >= end {
		return
	}
	d.printf("Found %d invalid bytes at the end of %s\n", end-position, path.Base(f.name))
	d.damage(f.name, position, fmt.Sprintf("the last %d bytes are no whole batch", end-position))
}

// batch prints one batch, with its records if they are wanted.
func (d *dumper) batch(f *source, position int64, h *batch.Header, offsets *follower) error {
	raw, err := f.at(d.buf, position, int64(h.SizeBytes()))
	if err != nil {
		return err
	}
	d.buf = raw
	b, _, err := batch.Parse(raw)
	if err != nil {
		d.damage(f.name, position, err.Error())
		return nil
	}
	crcErr := b.CheckCRC()
	if crcErr != nil {
		d.damage(f.name, position, crcErr.Error())
	}
	d.batchLine(&b.Header, position, crcErr == nil)
	if !d.opts.DeepIteration {
		return nil
	}
	if err := d.records(&b, crcErr == nil, offsets); err != nil {
		d.damage(f.name, position, fmt.Sprintf("batch at offset %d: %v", h.BaseOffset, err))
	}
	return nil
}

// batchLine prints the head of a batch.
func (d *dumper) batchLine(h *batch.Header, position int64, valid bool) {
	if h.Magic >= batch.MagicV2 {
		horizon := optionalLong(h.BaseTimestamp, h.Attributes.HasDeleteHorizon())
		d.printf("baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d"+
			" producerEpoch: %d partitionLeaderEpoch: %d isTransactional: %t isControl: %t deleteHorizonMs: %s",
			h.BaseOffset, h.LastOffset(), h.NumRecords, h.BaseSequence, h.LastSequence(), h.ProducerID,
			h.ProducerEpoch, h.LeaderEpoch, h.Attributes.IsTransactional(), h.Attributes.IsControl(), horizon)
	} else {
		d.printf("offset: %d", h.LastOffset())
	}
	d.printf(" position: %d %s: %d size: %d magic: %d compresscodec: %s crc: %d isvalid: %t\n",
		position, timestampType(h), h.MaxTimestamp, h.SizeBytes(), h.Magic, h.Attributes.Codec(), h.CRC, valid)
}

// optionalLong renders what Java calls an OptionalLong.
func optionalLong(v int64, present bool) string {
	if !present {
		return "OptionalLong.empty"
	}
	return "OptionalLong[" + strconv.FormatInt(v, 10) + "]"
}

// timestampType is the label of a batch's timestamps.
func timestampType(h *batch.Header) string {
	switch {
	case h.Magic == batch.MagicV0:
		return "NoTimestampType"
	case h.Attributes.TimestampType() == batch.LogAppendTime:
		return "LogAppendTime"
	}
	return "CreateTime"
}

// records prints the records of a batch.
func (d *dumper) records(b *batch.Batch, valid bool, offsets *follower) error {
	r, err := d.codecs.Records(b, d.maxDecompressed)
	if err != nil {
		return err
	}
	defer r.Close()
	control := b.Attributes.IsControl() && b.Magic >= batch.MagicV2
	label := timestampType(&b.Header)
	var rec batch.Record
	for r.Next(&rec) {
		offsets.follow(rec.Offset)
		if !d.opts.SkipRecordMetadata {
			d.printf("| offset: %d %s: %d keySize: %d valueSize: %d", rec.Offset, label, rec.Timestamp, rec.KeySize, rec.ValueSize)
			if b.Magic >= batch.MagicV2 {
				d.printf(" sequence: %d headerKeys: [", rec.Sequence)
				comma := ""
				for h := range rec.Headers() {
					d.printf("%s%s", comma, javaText([]byte(h.Key)))
					comma = ","
				}
				d.printf("]")
			} else {
				// A message inside another one was checked by the reader.
				d.printf(" isValid: %t crc: %d", valid || b.Attributes.Codec() != batch.None, r.LegacyCRC())
			}
			if control {
				if err := d.control(&rec); err != nil {
					d.printf("\n")
					return err
				}
			}
		}
		if d.opts.PrintDataLog && !control {
			if err := d.contents(&rec); err != nil {
				d.printf("\n")
				return err
			}
		}
		d.printf("\n")
	}
	return r.Err()
}

// controlLabels come before the control records of Kafka's metadata log and its snapshots.
var controlLabels = map[batch.ControlType]string{
	batch.ControlType(raftcontrol.LeaderChangeMessageType):  "LeaderChange:",
	batch.ControlType(raftcontrol.SnapshotHeaderRecordType): "SnapshotHeader",
	batch.ControlType(raftcontrol.SnapshotFooterRecordType): "SnapshotFooter",
	batch.ControlType(raftcontrol.KRaftVersionRecordType):   "KRaftVersion",
	batch.ControlType(raftcontrol.VotersRecordType):         "KRaftVoters",
}

// control prints what a control record says.
func (d *dumper) control(rec *batch.Record) error {
	t, err := batch.ParseControlType(rec.Key)
	if err != nil {
		return err
	}
	if label, ok := controlLabels[t]; ok {
		r, version, err := raftcontrol.Read(int16(t), rec.Value)
		if err == nil {
			d.printf(" %s %s", label, r.AppendJSON(nil, version))
		}
		return err
	}
	if t != batch.ControlAbort && t != batch.ControlCommit {
		d.printf(" controlType: UNKNOWN(%d)", t)
		return nil
	}
	name := "ABORT"
	if t == batch.ControlCommit {
		name = "COMMIT"
	}
	m, err := batch.ParseEndTxnMarker(rec.Key, rec.Value)
	if err != nil {
		return err
	}
	d.printf(" endTxnMarker: %s coordinatorEpoch: %d", name, m.CoordinatorEpoch)
	return nil
}

// contents prints key and value.
func (d *dumper) contents(rec *batch.Record) error {
	c, err := d.decode(rec)
	if err != nil {
		return fmt.Errorf("record at offset %d: %w", rec.Offset, err)
	}
	prefix := " "
	if d.opts.SkipRecordMetadata {
		prefix = "| "
	}
	if c.HasKey {
		d.printf("%skey: %s", prefix, c.Key)
		prefix = " "
	}
	if c.HasValue {
		d.printf("%spayload: %s", prefix, c.Value)
	}
	return nil
}

// follower notes where offsets aren't consecutive.
type follower struct {
	last int64
	gaps [][2]int64
}

func (f *follower) follow(offset int64) {
	if f.last != noOffset && offset != f.last+1 && len(f.gaps) < maxRemarks {
		f.gaps = append(f.gaps, [2]int64{f.last, offset})
	}
	f.last = offset
}
