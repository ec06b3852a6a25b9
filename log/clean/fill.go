package clean

import (
	"github.com/ottla/ottla/log/batch"
)

// Filler puts the keys of a log's dirty part into an OffsetMap.
type Filler struct {
	Map    *OffsetMap
	Codecs *batch.Codecs
	Limits batch.ReadLimits
	// From is the first dirty offset.
	From int64
	// Txns has the aborted transactions of the dirty part; their records count for nothing.
	Txns *Transactions

	reader batch.RecordReader
	plain  []batch.PlainRecord
	lookup lookup
}

// Add takes the next batch, whose checksum was checked. It reports true if the map was full before all of
// its keys were in. (Kafka: Cleaner.buildOffsetMapForSegment.)
func (f *Filler) Add(b *batch.Batch) (full bool, err error) {
	if b.Magic >= batch.MagicV2 {
		if b.Attributes.IsControl() {
			_, err = f.Txns.control(b)
		} else if !f.Txns.Batch(&b.Header) {
			full, err = f.addRecords(b)
		}
	} else {
		full, err = f.addRecords(b)
	}
	if err == nil && !full && b.LastOffset() >= f.From {
		f.Map.Extend(b.LastOffset())
	}
	return full, err
}

func (f *Filler) addRecords(b *batch.Batch) (full bool, err error) {
	var ok bool
	if f.plain, ok = plainRecords(f.plain, b); ok {
		return f.addPlain(b), nil
	}
	if err := f.reader.Open(f.Codecs, b, f.Limits); err != nil {
		return false, err
	}
	defer f.reader.Close()
	var rec batch.Record
	for next := b.BaseOffset; f.reader.Next(&rec); {
		if err := checkOffset(b, &rec, &next); err != nil {
			return false, err
		}
		if rec.HasKey() && rec.Offset >= f.From && !f.Map.Put(rec.Key, rec.Offset) {
			return true, nil
		}
	}
	return false, f.reader.Err()
}

// addPlain is addRecords for the plain records of b.
func (f *Filler) addPlain(b *batch.Batch) (full bool) {
	l := &f.lookup
	l.reset()
	for i := range f.plain {
		r := &f.plain[i]
		if offset := b.BaseOffset + int64(r.OffsetDelta); r.HasKey() && offset >= f.From {
			l.add(f.Map, r.Key(b), offset, i)
		}
		if l.n == len(l.hashes) || i == len(f.plain)-1 {
			l.touch(f.Map)
			for j := range l.n {
				if !f.Map.put(l.hashes[j], l.offsets[j]) {
					return true
				}
			}
			l.reset()
		}
	}
	return false
}
