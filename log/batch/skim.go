package batch

// Skim is Next without keeping keys and values: rec.Key and rec.Value are empty but not nil
// if the record has them, headers are left out. Memory stays at one window however large the
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
	rec.numHeaders, rec.headers = 0, nil
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
	if rec.Key, ok = s.skipField(); !ok {
		return invalid(errStructure)
	}
	if rec.Value, ok = s.skipField(); !ok {
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

// skipField walks over a field and returns nil if it is null, else an empty slice.
func (s *stream) skipField() (present []byte, ok bool) {
	size, ok := s.varint()
	if !ok {
		return nil, false
	}
	if size < 0 {
		return nil, true
	}
	return []byte{}, s.skip(int(size))
}
