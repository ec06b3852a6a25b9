package dump

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/files"
	"github.com/ottla/ottla/log/index"
)

// timeIndex dumps a .timeindex file and compares each entry with the segment, which it searches by
// the offset index.
func (d *dumper) timeIndex(name string, base int64, logName, indexName string) error {
	f, err := d.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if d.opts.IndexSanityCheck {
		x, err := index.OpenTime(files.NewPool(d.fs, 1), name, base, math.MaxInt32)
		if err != nil {
			return d.indexDamage(name, err)
		}
		defer x.Discard()
		if err := x.Check(); err != nil {
			return d.indexDamage(name, err)
		}
		d.printf("%s passed sanity check.\n", name)
		return nil
	}
	log, err := d.open(logName)
	if err != nil {
		return fmt.Errorf("its segment can't be opened: %w", err)
	}
	defer log.Close()
	c := &timeCheck{d: d, name: name, log: log, previousMs: batch.NoTimestamp}
	offsets, err := index.OpenOffset(files.NewPool(d.fs, 1), indexName, base, math.MaxInt32)
	switch {
	case err == nil:
		c.offsets = offsets
		defer offsets.Discard()
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, index.ErrCorrupt):
		return fmt.Errorf("the offset index can't be opened: %w", err)
	}
	err = f.entries(timeEntryBytes, func(i int, e []byte) bool {
		timestampMs := int64(binary.BigEndian.Uint64(e))
		offset := base + int64(binary.BigEndian.Uint32(e[8:]))
		if offset == base && i > 0 {
			d.zeroTail(f, i, timeEntryBytes)
			return false
		}
		c.entry(int64(i)*timeEntryBytes, timestampMs, offset)
		if !d.opts.VerifyIndexOnly {
			d.printf("timestamp: %d offset: %d\n", timestampMs, offset)
		}
		return true
	})
	d.oddSize(f, timeEntryBytes)
	c.remark()
	return err
}

// timeCheck compares the entries of a time index with the segment.
type timeCheck struct {
	d    *dumper
	name string
	log  *source
	// offsets is nil if the segment must be read from its beginning.
	offsets *index.Offset
	// reached is the position up to which batches were passed, all of which end before reachedOffset
	// (inclusive); entries in order are found from there.
	reached, reachedOffset int64
	previousMs             int64

	mismatch, disorder, notFound [][2]int64
}

// entry checks one entry.
func (c *timeCheck) entry(at, timestampMs, offset int64) {
	h, position, err := c.find(offset)
	switch {
	case err != nil:
		c.d.damage(c.name, at, fmt.Sprintf("entry of offset %d: no batch of the segment has it", offset))
		c.notFound = note(c.notFound, offset, -1)
	case h.LastOffset() != offset:
		c.d.damage(c.name, at, fmt.Sprintf("entry of offset %d: the batch ends with offset %d", offset, h.LastOffset()))
		c.notFound = note(c.notFound, offset, h.LastOffset())
	default:
		if largest := c.largestTimestamp(&h, position); largest != timestampMs {
			c.d.damage(c.name, at, fmt.Sprintf("entry of offset %d: timestamp %d, the batch has %d", offset, timestampMs, largest))
			c.mismatch = note(c.mismatch, timestampMs, largest)
		}
		if c.previousMs >= timestampMs {
			c.d.damage(c.name, at, fmt.Sprintf("timestamp %d after %d", timestampMs, c.previousMs))
			c.disorder = note(c.disorder, timestampMs, c.previousMs)
		}
	}
	c.previousMs = timestampMs
}

// find returns the first batch that ends at offset or later.
func (c *timeCheck) find(offset int64) (h batch.Header, position int64, err error) {
	if c.offsets != nil {
		p, err := c.offsets.Lookup(offset)
		if err == nil && p.FilePosition >= 0 {
			position = p.FilePosition
		}
	}
	if c.reachedOffset < offset {
		position = max(position, c.reached)
	}
	for {
		if h, err = c.log.headerAt(position, math.MaxInt32); err != nil {
			return h, position, err
		}
		if h.LastOffset() >= offset {
			return h, position, nil
		}
		position += int64(h.SizeBytes())
		c.reached, c.reachedOffset = position, h.LastOffset()
	}
}

// largestTimestamp is that of a batch's records, or of its head if they can't be read, which the dump
// of the segment tells.
func (c *timeCheck) largestTimestamp(h *batch.Header, position int64) int64 {
	raw, err := c.log.at(c.d.buf, position, int64(h.SizeBytes()))
	if err != nil {
		return h.MaxTimestamp
	}
	c.d.buf = raw
	b, _, err := batch.Parse(raw)
	if err != nil {
		return h.MaxTimestamp
	}
	r, err := c.d.codecs.Records(&b, c.d.maxDecompressed)
	if err != nil {
		return h.MaxTimestamp
	}
	defer r.Close()
	largest := batch.NoTimestamp
	var rec batch.Record
	for r.Next(&rec) {
		largest = max(largest, rec.Timestamp)
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return h.MaxTimestamp
	}
	return largest
}

// note adds a pair unless there are too many.
func note(pairs [][2]int64, a, b int64) [][2]int64 {
	if len(pairs) >= maxRemarks {
		return pairs
	}
	return append(pairs, [2]int64{a, b})
}

// remark lists what was found, in the stock tool's words.
func (c *timeCheck) remark() {
	list := func(pairs [][2]int64, head, line string) {
		if len(pairs) > 0 {
			c.d.remark("%s\n", head)
		}
		for _, p := range pairs {
			c.d.remark(line, p[0], p[1])
		}
	}
	list(c.mismatch, "Found timestamp mismatch in :"+c.name, "  Index timestamp: %d, log timestamp: %d\n")
	list(c.disorder, "Found out of order timestamp in :"+c.name, "  Index timestamp: %d, Previously indexed timestamp: %d\n")
	list(c.notFound, "The following indexed offsets are not found in the log.", "Indexed offset: %d, found log offset: %d\n")
}
