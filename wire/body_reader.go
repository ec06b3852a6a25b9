package wire

import "encoding/binary"

// bodyReader reads the fields of a request's body in their order. A field that isn't there reads as zero, and short
// says so at the end; the walk over the body's shape comes first, so this happens to no request.
type bodyReader struct {
	src []byte
	// flexible is the compact form of lengths, with tags (KIP-482).
	flexible, short bool
}

// take returns the next n bytes, which borrow the body.
func (r *bodyReader) take(n int) []byte {
	if n < 0 || n > len(r.src) {
		r.src, r.short = nil, true
		return nil
	}
	b := r.src[:n:n]
	r.src = r.src[n:]
	return b
}

func (r *bodyReader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *bodyReader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *bodyReader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *bodyReader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *bodyReader) uuid() (id [16]byte) {
	copy(id[:], r.take(16))
	return id
}

func (r *bodyReader) uvarint() int {
	v, n := binary.Uvarint(r.src)
	if n <= 0 || v > 1<<31 {
		r.src, r.short = nil, true
		return 0
	}
	r.src = r.src[n:]
	return int(v)
}

// length reads the length of an array or of bytes, -1 where there is none.
func (r *bodyReader) length() int {
	if r.flexible {
		return r.uvarint() - 1
	}
	return int(r.int32())
}

// count reads the length of an array whose elements take at least one byte each; null counts as 0.
func (r *bodyReader) count() int {
	n := r.length()
	if n > len(r.src) {
		r.src, r.short = nil, true
	}
	if r.short {
		return 0
	}
	return max(n, 0)
}

// bytes reads nullable bytes, which borrow the body.
func (r *bodyReader) bytes() []byte {
	if n := r.length(); n >= 0 {
		return r.take(n)
	}
	return nil
}

// stringBytes reads a string; false if it is null.
func (r *bodyReader) stringBytes() ([]byte, bool) {
	var n int
	if r.flexible {
		n = r.uvarint() - 1
	} else {
		n = int(r.int16())
	}
	if n < 0 {
		return nil, false
	}
	return r.take(n), true
}

// string reads a string. One that is the same as last is last, so that it takes no memory: clients ask for the
// same topics again and again.
func (r *bodyReader) string(last string) string {
	b, _ := r.stringBytes()
	if string(b) == last {
		return last
	}
	return string(b)
}

// nullableString is string for one that may be null.
func (r *bodyReader) nullableString(last *string) *string {
	b, ok := r.stringBytes()
	if !ok {
		return nil
	}
	if last != nil && string(b) == *last {
		return last
	}
	s := string(b)
	return &s
}

// tags reads tagged fields: each known is called with a field's tag and a reader of its bytes.
func (r *bodyReader) tags(each func(tag int, field *bodyReader)) {
	if !r.flexible {
		return
	}
	for n := r.uvarint(); n > 0 && !r.short; n-- {
		tag := r.uvarint()
		b := r.take(r.uvarint())
		if each == nil {
			continue
		}
		field := bodyReader{src: b, flexible: true, short: r.short}
		each(tag, &field)
		r.short = r.short || field.short
	}
}

// skipTags passes over tagged fields.
func (r *bodyReader) skipTags() { r.tags(nil) }

// resize makes s n long. What its elements held before is still in them, so that its memory is used again.
func resize[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return append(s[:cap(s)], make([]T, n-cap(s))...)
}
