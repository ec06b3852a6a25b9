package batch

// Skim is Next without keeping keys and values: KeySize and ValueSize tell of them, headers are
// left out. Memory stays at one window however large the
// records are. Like Kafka's skip-key-value iterator it takes the fields' word over the
// record's length, which Next compares. Requires: magic 2.
func (r *RecordReader) Skim(rec *Record) bool {
	if r.err != nil || r.left == 0 {
		return false
	}
	if r.dec == nil && (!r.compressed || r.limits.RecordBodyBytes >= maxShortBytes) {
		if n := skimShort(&r.head, r.s.buf[r.s.pos:r.s.end], rec); n > 0 {
			r.s.pos += n
			return r.done()
		}
	}
	if !r.compressed {
		return r.Next(rec)
	}
	size, ok := r.bodySize()
	if !ok {
		return false
	}
	if err := r.skimBody(rec); err != nil {
		return r.fail(err)
	}
	rec.SizeBytes = size + sizeVarint(int32(size))
	rec.Key, rec.Value, rec.numHeaders, rec.headers = nil, nil, 0, nil
	return r.done()
}

// skimShort skims the plain record at the start of b if it is like nearly all: lengths and deltas
// of at most two bytes, no headers. It returns the record's size, or 0 for any other record,
// also a malformed one, which is then looked at more closely. This is the path of every record that is
// produced uncompressed, and takes half of Next's time.
func skimShort(h *Header, b []byte, rec *Record) int {
	size, i := shortVarint(b, 0)
	end := i + int(size>>1)
	timestampDelta, i := shortVarint(b, i+1)
	offsetDelta, i := shortVarint(b, i)
	keySize, i := shortVarint(b, i)
	if keySize&1 == 0 { // Odd: negative, null.
		i += int(keySize >> 1)
	}
	valueSize, i := shortVarint(b, i)
	if valueSize&1 == 0 {
		i += int(valueSize >> 1)
	}
	numHeaders, i := shortVarint(b, i)
	if numHeaders != 0 || size&1 != 0 || i != end || i > len(b) || oddNull(keySize) || oddNull(valueSize) {
		return 0
	}
	rec.Key, rec.Value, rec.numHeaders, rec.headers = nil, nil, 0, nil
	rec.KeySize, rec.ValueSize = unzigzag(keySize), unzigzag(valueSize)
	rec.SizeBytes = end
	rec.place(h, int64(unzigzag(timestampDelta)), unzigzag(offsetDelta))
	return end
}

// oddNull says that the size of a field, zig-zag, is negative and not -1, which nobody writes but everybody takes for null.
func oddNull(size uint32) bool { return size&1 != 0 && size != 1 }

// maxShortBytes is the largest body of a record that skimShort reads.
const maxShortBytes = 1<<13 - 1

// beyond is a position that is far above the end of any record that shortVarint can read.
const beyond = 1 << 30

// shortVarint reads the varint of one or two bytes at b[i] as it stands, zig-zag, and returns the
// position after it; beyond if it is longer or isn't there.
func shortVarint(b []byte, i int) (u uint32, next int) {
	if i < len(b) && b[i] < 0x80 {
		return uint32(b[i]), i + 1
	}
	if i+1 < len(b) && b[i+1] < 0x80 {
		return uint32(b[i]&0x7f) | uint32(b[i+1])<<7, i + 2
	}
	return 0, beyond
}

func unzigzag(u uint32) int32 { return int32(u>>1) ^ -int32(u&1) }

// skimBody walks over a record's fields.
func (r *RecordReader) skimBody(rec *Record) error {
	s := &r.s
	if !s.skip(1) {
		return invalid(errStructure)
	}
	timestampDelta, ok := s.varlong()
	if !ok {
		return invalid(errStructure)
	}
	offsetDelta, ok := s.varint()
	if !ok {
		return invalid(errStructure)
	}
	if rec.KeySize, ok = s.skipField(); !ok {
		return invalid(errStructure)
	}
	if rec.ValueSize, ok = s.skipField(); !ok {
		return invalid(errStructure)
	}
	numHeaders, ok := s.varint()
	if !ok {
		return invalid(errStructure)
	}
	if numHeaders < 0 {
		return invalid("Found invalid number of record headers %d", numHeaders)
	}
	for range numHeaders {
		keySize, ok := s.varint()
		if !ok {
			return invalid(errStructure)
		}
		if keySize < 0 {
			return invalid("Invalid negative header key size %d", keySize)
		}
		if !s.skip(int(keySize)) {
			return invalid(errStructure)
		}
		if _, ok = s.skipField(); !ok {
			return invalid(errStructure)
		}
	}
	rec.place(&r.head, timestampDelta, offsetDelta)
	return nil
}

// skipField walks over a field and returns its size, negative for null.
func (s *stream) skipField() (size int32, ok bool) {
	size, ok = s.varint()
	if !ok || size < 0 {
		return size, ok
	}
	return size, s.skip(int(size))
}
