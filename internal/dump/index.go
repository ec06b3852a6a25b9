package dump

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/files"
	"github.com/ottla/ottla/log/index"
)

const (
	offsetEntryBytes = 8
	timeEntryBytes   = 12
	entriesAtOnce    = 1024
)

// entries calls do for each whole entry of an index file, until it returns false.
func (f *source) entries(size int64, do func(i int, e []byte) bool) error {
	var buf []byte
	n := f.size / size
	for i := int64(0); i < n; i += entriesAtOnce {
		var err error
		if buf, err = f.at(buf, i*size, min(entriesAtOnce, n-i)*size); err != nil {
			return err
		}
		for j := range int64(len(buf)) / size {
			if !do(int(i+j), buf[j*size:(j+1)*size]) {
				return nil
			}
		}
	}
	return nil
}

// indexDamage takes an error of package index for what it is.
func (d *dumper) indexDamage(name string, err error) error {
	if errors.Is(err, index.ErrCorrupt) {
		d.damage(name, -1, bare(err).Error())
		return nil
	}
	return bare(err)
}

// offsetIndex dumps an .index file and compares each entry with the segment.
func (d *dumper) offsetIndex(name string, base int64, logName string) error {
	f, err := d.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	log, err := d.open(logName)
	if err != nil {
		return fmt.Errorf("its segment can't be opened: %w", err)
	}
	defer log.Close()
	if f.size < offsetEntryBytes && f.size%offsetEntryBytes == 0 {
		d.printf("%s is empty.\n", name)
		return nil
	}
	if d.opts.IndexSanityCheck {
		x, err := index.OpenOffset(files.NewPool(d.fs, 1), name, base, math.MaxInt32)
		if err != nil {
			return d.indexDamage(name, err)
		}
		defer x.Discard()
		if err := x.Check(log.size); err != nil {
			return d.indexDamage(name, err)
		}
		d.printf("%s passed sanity check.\n", name)
		return nil
	}
	var wrong [][2]int64
	err = f.entries(offsetEntryBytes, func(i int, e []byte) bool {
		offset := base + int64(binary.BigEndian.Uint32(e))
		position := int64(int32(binary.BigEndian.Uint32(e[4:])))
		if offset == base && i > 0 {
			d.zeroTail(f, i, offsetEntryBytes)
			return false
		}
		at := int64(i) * offsetEntryBytes
		h, err := log.headerAt(position, d.opts.MaxMessageSize)
		if err != nil {
			d.damage(name, at, fmt.Sprintf("entry of offset %d: no batch at position %d of the segment", offset, position))
		} else if h.LastOffset() != offset {
			d.damage(name, at, fmt.Sprintf("entry of offset %d: the batch at position %d of the segment ends with offset %d",
				offset, position, h.LastOffset()))
			if len(wrong) < maxRemarks {
				wrong = append(wrong, [2]int64{offset, h.LastOffset()})
			}
		}
		if !d.opts.VerifyIndexOnly {
			d.printf("offset: %d position: %d\n", offset, position)
		}
		return true
	})
	d.oddSize(f, offsetEntryBytes)
	if len(wrong) > 0 {
		slices.SortFunc(wrong, func(a, b [2]int64) int { return int(min(1, max(-1, b[0]-a[0]))) })
		d.remark("Mismatches in :%s\n", name)
		for _, w := range wrong {
			d.remark("  Index offset: %d, log offset: %d\n", w[0], w[1])
		}
	}
	return err
}

// headerAt reads the head of a batch that an index points at, which must be whole and not too large.
func (f *source) headerAt(position, maxBytes int64) (batch.Header, error) {
	if position < 0 || position >= f.size {
		return batch.Header{}, io.EOF
	}
	return f.header(position, min(f.size, position+maxBytes))
}

// zeroTail looks at what follows an entry that is zero: room that a running broker reserved, which is
// no damage, has nothing but zeros.
func (d *dumper) zeroTail(f *source, first int, size int64) {
	err := f.entries(size, func(i int, e []byte) bool {
		if i < first || slices.IndexFunc(e, func(b byte) bool { return b != 0 }) < 0 {
			return true
		}
		d.damage(f.name, int64(first)*size, "an entry of the base offset follows others")
		return false
	})
	if err != nil {
		d.damage(f.name, -1, err.Error())
	}
}

// oddSize tells of bytes after the last entry.
func (d *dumper) oddSize(f *source, size int64) {
	if odd := f.size % size; odd != 0 {
		d.damage(f.name, f.size-odd, fmt.Sprintf("%d bytes after the last entry", odd))
	}
}

// txnIndex dumps a .txnindex file.
func (d *dumper) txnIndex(name string) error {
	if _, err := d.fs.Stat(name); err != nil {
		return bare(err)
	}
	entries, err := index.ReadTxn(d.fs, name)
	if err != nil {
		return d.indexDamage(name, err)
	}
	for _, t := range entries {
		d.printf("version: 0 producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d\n",
			t.ProducerID, t.FirstOffset, t.LastOffset, t.LastStableOffset)
	}
	return nil
}
