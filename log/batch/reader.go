package batch

import "math"

// MaxRecordBodyBytes is the largest record body, without its length, that Kafka reads: the
// default of max.decompressed.message.bytes.
const MaxRecordBodyBytes = math.MaxInt32 - 8

// ReadLimits bound what reading a batch may cost.
type ReadLimits struct {
	// TotalBytes bounds the decompressed records of the batch; beyond is CORRUPT_MESSAGE.
	TotalBytes int64
	// RecordBodyBytes bounds one record of a compressed batch, as max.decompressed.message.bytes
	// does; beyond is INVALID_RECORD.
	RecordBodyBytes int32
}

// RecordReader reads the records of one batch in order, magic 2 or legacy. Records of an
// uncompressed batch are slices of the batch; those of a compressed one are valid until the
// next call of Next, Skim or Close.
//
// It reads as many records as the head says (KIP-98) and then demands that nothing is left.
//
// Close a reader before opening the next one, and don't wait for others in between: opening one
// may wait for another goroutine's to be closed (Codecs bounds the readers of large windows).
type RecordReader struct {
	codecs *Codecs
	head   Header
	limits ReadLimits
	left   int32 // records to read
	err    error
	s      stream
	// compressed is what the batch is. Its records come from dec through window, or, if those are nil, lie in
	// memory as plain ones do: in whole, or in the batch if that is nil too.
	compressed bool
	dec        decompressor
	window     *window
	whole      *wholeBuffer
	legacy     legacyReader // magic 0 and 1
}

// Records opens the records of b with the default limit for one record. Decompressed data
// beyond maxBytes is CORRUPT_MESSAGE. The caller closes the reader, which gives pooled state
// back.
func (c *Codecs) Records(b *Batch, maxBytes int64) (*RecordReader, error) {
	r := new(RecordReader)
	if err := r.Open(c, b, ReadLimits{TotalBytes: maxBytes, RecordBodyBytes: MaxRecordBodyBytes}); err != nil {
		return nil, err
	}
	return r, nil
}

// Open prepares r, which may be a closed reader, to read b's records.
func (r *RecordReader) Open(c *Codecs, b *Batch, limits ReadLimits) error {
	*r = RecordReader{codecs: c, head: b.Header, limits: limits, left: b.NumRecords}
	if b.Magic < MagicV2 {
		return r.legacy.open(c, b, limits)
	}
	if b.NumRecords < 0 {
		return invalid("Found invalid record count %d in magic v%d batch", b.NumRecords, b.Magic)
	}
	payload := b.Payload()
	codec := b.Attributes.Codec()
	if codec == None || b.NumRecords == 0 {
		r.s = stream{buf: payload, end: len(payload)}
		return nil
	}
	r.compressed = true
	if r.openWhole(c, codec, payload) {
		return nil
	}
	return r.openStream(c, codec, payload)
}

// openStream makes r read src through a window, however much comes out of it.
func (r *RecordReader) openStream(c *Codecs, codec Codec, src []byte) error {
	dec, err := c.open(codec, src)
	if err != nil {
		return err
	}
	r.dec, r.window = dec, c.getWindow()
	r.s = stream{buf: r.window[:], src: dec, left: r.limits.TotalBytes}
	return nil
}

// Next decodes the next record into rec. It reports false at the end and at an error: see Err.
func (r *RecordReader) Next(rec *Record) bool {
	if r.head.Magic < MagicV2 {
		return r.legacy.next(rec, &r.err)
	}
	if r.err != nil || r.left == 0 {
		return false
	}
	size, ok := r.bodySize()
	if !ok {
		return false
	}
	if !r.s.need(size) {
		if !r.compressed {
			return r.fail(invalid("Invalid record size: expected %d bytes in record payload, but instead the buffer has only %d remaining bytes.", size, r.s.end-r.s.pos))
		}
		return r.fail(invalid("Invalid record size: expected %d bytes in record payload, but the record payload reached EOF.", size))
	}
	body := r.s.buf[r.s.pos : r.s.pos+size : r.s.pos+size]
	r.s.pos += size
	if err := decodeRecord(&r.head, body, rec); err != nil {
		return r.fail(err)
	}
	return r.done()
}

// bodySize reads the length of the next record.
func (r *RecordReader) bodySize() (int, bool) {
	size, ok := r.s.varint()
	if !ok {
		return 0, r.fail(invalid("Incorrect declared batch size, premature EOF reached"))
	}
	if size < 0 {
		// Kafka finds this out differently for plain and compressed batches; both are
		// INVALID_RECORD.
		return 0, r.fail(invalid("Invalid record size: %d is negative.", size))
	}
	if r.compressed && size > r.limits.RecordBodyBytes {
		return 0, r.fail(invalid("Invalid record size: %d exceeds the configured maximum record size of %d.", size, r.limits.RecordBodyBytes))
	}
	return int(size), true
}

// done counts a record and, after the last one, demands that nothing is left.
func (r *RecordReader) done() bool {
	r.left--
	if r.left > 0 {
		return true
	}
	if !r.s.ended() {
		return r.fail(invalid("Incorrect declared batch size, records still remaining in file"))
	}
	if r.s.err != nil {
		return r.fail(r.s.err)
	}
	return true
}

// fail ends the reading; an error of the decompressor is the truer one.
func (r *RecordReader) fail(err error) bool {
	r.err = err
	if r.s.err != nil {
		r.err = r.s.err
	}
	return false
}

// Err is what ended the reading: nil if all records were read.
func (r *RecordReader) Err() error { return r.err }

// Close releases the reader. Records read from it are invalid afterwards.
func (r *RecordReader) Close() {
	if r.dec != nil {
		r.dec.release(r.codecs)
		r.codecs.putWindow(r.window)
	}
	r.codecs.putWhole(r.whole)
	r.legacy.close()
	*r = RecordReader{err: r.err}
}

// LegacyCRC is the checksum that the message has which Next returned last. Requires: magic 0 or 1.
func (r *RecordReader) LegacyCRC() uint32 { return r.legacy.crc }
