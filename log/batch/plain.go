package batch

// PlainRecord says where a record of an uncompressed batch lies, and what compaction asks of it. Positions are
// in Batch.Payload.
type PlainRecord struct {
	TimestampDelta int64
	OffsetDelta    int32
	// start is where the record begins with its length, body what follows the length, rest what follows the timestamp
	// delta, end what follows the record.
	start, body, rest, end int32
	// key and keyEnd enclose the key; key is -1 if it is null.
	key, keyEnd int32
	// NullValue says that the value is null.
	NullValue bool
}

// Key returns the key, borrowed from b; nil is null.
func (r *PlainRecord) Key(b *Batch) []byte {
	if r.key < 0 {
		return nil
	}
	return b.raw[HeaderSize+int(r.key) : HeaderSize+int(r.keyEnd) : HeaderSize+int(r.keyEnd)]
}

// HasKey tells whether the key isn't null.
func (r *PlainRecord) HasKey() bool { return r.key >= 0 }

// PlainRecords appends all records of b to dst. It reports false unless b is an uncompressed batch of magic 2
// which RecordReader would read to its end without an error: that one tells what is wrong, and reads
// all others.
func (b *Batch) PlainRecords(dst []PlainRecord) ([]PlainRecord, bool) {
	if b.Magic < MagicV2 || b.Attributes.Codec() != None || b.NumRecords < 0 {
		return dst, false
	}
	p := b.Payload()
	at := 0
	for range b.NumRecords {
		dst = append(dst, PlainRecord{})
		r := &dst[len(dst)-1]
		if end := r.locateShort(p, at); end > 0 {
			at = end
		} else if at = r.locate(p, at); at < 0 {
			return dst, false
		}
	}
	// What follows the records is an error but for a batch that says it has none, which nobody reads.
	return dst, at == len(p) || b.NumRecords == 0
}

// locateShort is locate for records like nearly all: lengths and deltas of at most two bytes, no headers. It returns 0
// for any other record.
func (r *PlainRecord) locateShort(p []byte, at int) (end int) {
	size, body := shortVarint(p, at)
	end = body + int(size>>1)
	timestampDelta, rest := shortVarint(p, body+1)
	offsetDelta, i := shortVarint(p, rest)
	key, i := shortVarint(p, i)
	r.key, r.keyEnd = -1, int32(i)
	if key&1 == 0 { // Odd: negative, null.
		r.key = int32(i)
		i += int(key >> 1)
		r.keyEnd = int32(i)
	}
	value, i := shortVarint(p, i)
	r.NullValue = value&1 != 0
	if !r.NullValue {
		i += int(value >> 1)
	}
	headers, i := shortVarint(p, i)
	if headers != 0 || size&1 != 0 || i != end || i > len(p) {
		return 0
	}
	r.start, r.body, r.rest, r.end = int32(at), int32(body), int32(rest), int32(end)
	r.TimestampDelta, r.OffsetDelta = int64(unzigzag(timestampDelta)), unzigzag(offsetDelta)
	return end
}

// locate reads the record at p[at] and returns where it ends, -1 if it is malformed.
func (r *PlainRecord) locate(p []byte, at int) (end int) {
	size, n := getVarint(p[at:])
	body := at + n
	if n <= 0 || size < 1 || int(size) > len(p)-body {
		return -1
	}
	end = body + int(size)
	b := p[:end]
	r.start, r.body, r.end = int32(at), int32(body), int32(end)
	if r.TimestampDelta, n = getVarlong(b[body+1:]); n <= 0 {
		return -1
	}
	i := body + 1 + n
	r.rest = int32(i)
	if r.OffsetDelta, n = getVarint(b[i:]); n <= 0 {
		return -1
	}
	i += n
	key, i := skipField(b, i)
	if i < 0 {
		return -1
	}
	r.key, r.keyEnd = -1, int32(i)
	if key >= 0 {
		r.key = int32(i) - key
	}
	value, i := skipField(b, i)
	if i < 0 {
		return -1
	}
	r.NullValue = value < 0
	headers, n := getVarint(b[i:])
	i += n
	if n <= 0 || headers < 0 || int(headers) > end-i {
		return -1
	}
	for range headers {
		if key, i = skipField(b, i); i < 0 || key < 0 {
			return -1
		}
		if _, i = skipField(b, i); i < 0 {
			return -1
		}
	}
	if i != end {
		return -1
	}
	return end
}

// skipField walks over the field at b[i], whose size is negative for null, and returns where it ends; next is
// -1 if it doesn't fit.
func skipField(b []byte, i int) (size int32, next int) {
	size, n := getVarint(b[i:])
	if n <= 0 {
		return 0, -1
	}
	i += n
	if size < 0 {
		return -1, i
	}
	if int(size) > len(b)-i {
		return 0, -1
	}
	return size, i + int(size)
}

// AppendPlain adds a record at its offset, as it stands but for its timestamp delta where the base timestamp has
// moved. Requires: the builder compresses nothing and has the base offset of from.
func (b *Builder) AppendPlain(from *Batch, r *PlainRecord) {
	timestamp := from.BaseTimestamp + r.TimestampDelta
	if from.Attributes.TimestampType() == LogAppendTime {
		timestamp = from.MaxTimestamp
	}
	_, timestampDelta, ok := b.admit(from.BaseOffset+int64(r.OffsetDelta), timestamp)
	if !ok {
		return
	}
	p := from.Payload()
	if timestampDelta == r.TimestampDelta {
		b.dst = append(b.dst, p[r.start:r.end]...)
		return
	}
	size := 1 + sizeVarlong(timestampDelta) + int(r.end-r.rest)
	b.dst = appendVarint(b.dst, int32(size))
	b.dst = append(b.dst, 0)
	b.dst = appendVarlong(b.dst, timestampDelta)
	b.dst = append(b.dst, p[r.rest:r.end]...)
}
