package clean

import "github.com/ottla/ottla/log/batch"

// maxPlainRecords bounds the memory for the positions of a batch's records.
const maxPlainRecords = 1 << 17

// plainRecords locates the records of b in dst, which it reuses. It reports false if b must be read by a
// RecordReader: it isn't plain, has too many records, or something is wrong with it.
func plainRecords(dst []batch.PlainRecord, b *batch.Batch) ([]batch.PlainRecord, bool) {
	if b.NumRecords > maxPlainRecords {
		return dst, false
	}
	dst, ok := b.PlainRecords(dst[:0])
	next := int32(0)
	for i := range dst {
		d := dst[i].OffsetDelta
		ok = ok && d >= next && d <= b.LastOffsetDelta
		next = d + 1
	}
	return dst, ok
}

// lookupSize is how many keys are looked up together.
const lookupSize = 32

// lookup gathers keys that are looked up in an OffsetMap. Most of a lookup is waiting for memory, and together
// they wait once.
type lookup struct {
	n       int
	hashes  [lookupSize]hash
	offsets [lookupSize]int64
	// records are the indexes of the records in their batch.
	records [lookupSize]int32
	sink    int64
}

func (l *lookup) reset() { l.n = 0 }

// add adds a key. Requires: l.n < lookupSize.
func (l *lookup) add(m *OffsetMap, key []byte, offset int64, record int) {
	l.hashes[l.n], l.offsets[l.n], l.records[l.n] = m.key.sum(key), offset, int32(record)
	l.n++
}

func (l *lookup) touch(m *OffsetMap) { l.sink += m.touch(l.hashes[:l.n]) }

// choosePlain is choose for the plain records of b.
func (f *Filter) choosePlain(b *batch.Batch) (kept, dropped int, tombstones bool) {
	f.keep = append(f.keep[:0], make([]bool, len(f.plain))...)
	l := &f.lookup
	l.reset()
	for i := range f.plain {
		r := &f.plain[i]
		offset := b.BaseOffset + int64(r.OffsetDelta)
		switch {
		case f.outOfReach(b, offset):
			f.keep[i] = true
		case !r.HasKey():
			f.Stats.RecordsWithoutKey++
		case f.Map.knows(offset):
			f.keep[i] = !f.Map.isSuperseded(offset) && (!r.NullValue || f.retainTombstone(b))
		default:
			l.add(f.Map, r.Key(b), offset, i)
		}
		if l.n == len(l.hashes) || i == len(f.plain)-1 {
			l.touch(f.Map)
			for j := range l.n {
				at := l.records[j]
				f.keep[at] = l.offsets[j] >= f.Map.get(l.hashes[j]) && (!f.plain[at].NullValue || f.retainTombstone(b))
			}
			l.reset()
		}
	}
	for i, keep := range f.keep {
		if keep {
			kept++
			tombstones = tombstones || f.plain[i].NullValue
		}
	}
	return kept, len(f.plain) - kept, tombstones
}

// rewritePlain appends a batch of the kept records to dst. Requires: choosePlain looked at b.
func (f *Filter) rewritePlain(dst []byte, b *batch.Batch, o batch.BuilderOptions) ([]byte, error) {
	builder := f.Codecs.NewBuilder(dst, o)
	for i := range f.plain {
		if f.keep[i] {
			builder.AppendPlain(b, &f.plain[i])
		}
	}
	out, err := builder.Build()
	if err != nil {
		return dst, err
	}
	return out, nil
}
