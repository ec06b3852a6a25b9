package batch

// Skim is Next without keeping keys and values: KeySize and ValueSize tell of them, headers are
// left out. Memory stays at one window however large the
// records are. Like Kafka's skip-key-value iterator it takes the fields' word over the
// record's length, which Next compares. Requires: magic 2.
func (r *RecordReader) Skim(rec *Record) bool {
	if r.dec == nil {
		return r.Next(rec)
	}
	if r.err != nil || r.left == 0 {
		return false
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
