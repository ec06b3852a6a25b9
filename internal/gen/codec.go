package main

// codecSource is the part of a generated package that is the same for all schemas. It stands in
// each of them so that they need no common package of their own.
const codecSource = `package %s

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

var (
	// errShort means that the bytes ended before the fields did.
	errShort = errors.New("not enough bytes")
	// errNull means that a field which may not be null is.
	errNull = errors.New("unexpected null")
	// errMalformed means a length, count, tag or flag that no encoder writes.
	errMalformed = errors.New("malformed field")
)

// VersionError says that a record has a version that isn't known here.
type VersionError struct{ Type, Version int16 }

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("record type %%d has unknown version %%d", e.Type, e.Version)
}

// TypeError says that a record has a type that isn't known here.
type TypeError struct{ Type int16 }

// Error implements error.
func (e *TypeError) Error() string { return fmt.Sprintf("unknown record type %%d", e.Type) }

func mustSupport(version, lowest, highest int16) {
	if version < lowest || version > highest {
		panic(fmt.Sprintf("version %%d is not from %%d to %%d", version, lowest, highest))
	}
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendInt8(dst []byte, i int8) []byte      { return append(dst, byte(i)) }
func appendInt16(dst []byte, i int16) []byte    { return binary.BigEndian.AppendUint16(dst, uint16(i)) }
func appendUint16(dst []byte, i uint16) []byte  { return binary.BigEndian.AppendUint16(dst, i) }
func appendInt32(dst []byte, i int32) []byte    { return binary.BigEndian.AppendUint32(dst, uint32(i)) }
func appendInt64(dst []byte, i int64) []byte    { return binary.BigEndian.AppendUint64(dst, uint64(i)) }
func appendUvarint(dst []byte, u uint32) []byte { return binary.AppendUvarint(dst, uint64(u)) }
func appendUUID(dst []byte, id [16]byte) []byte { return append(dst, id[:]...) }

func appendFloat64(dst []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(f))
}

func appendString(dst []byte, s string, flexible bool) []byte {
	if flexible {
		dst = appendUvarint(dst, uint32(len(s))+1)
	} else {
		dst = appendInt16(dst, int16(len(s)))
	}
	return append(dst, s...)
}

func appendNullableString(dst []byte, s *string, flexible bool) []byte {
	switch {
	case s != nil:
		return appendString(dst, *s, flexible)
	case flexible:
		return appendUvarint(dst, 0)
	}
	return appendInt16(dst, -1)
}

func appendBytes(dst, b []byte, flexible bool) []byte {
	return append(appendArrayLen(dst, len(b), false, flexible), b...)
}

func appendArrayLen(dst []byte, n int, isNull, flexible bool) []byte {
	switch {
	case flexible && isNull:
		return appendUvarint(dst, 0)
	case flexible:
		return appendUvarint(dst, uint32(n)+1)
	case isNull:
		return appendInt32(dst, -1)
	}
	return appendInt32(dst, int32(n))
}

// tagWriter collects tagged fields; they must be written in order of their tags.
type tagWriter struct {
	n    uint32
	tag  uint32
	body []byte
}

// start begins a field; the caller appends to the result and hands it to end.
func (w *tagWriter) start(tag uint32) []byte {
	w.n++
	w.tag = tag
	return nil
}

func (w *tagWriter) end(field []byte) {
	w.body = appendUvarint(w.body, w.tag)
	w.body = appendUvarint(w.body, uint32(len(field)))
	w.body = append(w.body, field...)
}

func (w *tagWriter) appendTo(dst []byte) []byte { return append(appendUvarint(dst, w.n), w.body...) }

// reader decodes from src. The first error sticks; after it every read gives zero values.
type reader struct {
	src []byte
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.src = nil
}

// take returns the next n bytes, borrowed from src.
func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.src) {
		r.fail(errShort)
		return nil
	}
	b := r.src[:n]
	r.src = r.src[n:]
	return b
}

func (r *reader) bool() bool {
	b := r.int8()
	if b != 0 && b != 1 {
		r.fail(errMalformed)
	}
	return b == 1
}

func (r *reader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) int16() int16 { return int16(r.uint16()) }

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) float64() float64 { return math.Float64frombits(uint64(r.int64())) }

func (r *reader) uuid() (id [16]byte) {
	copy(id[:], r.take(len(id)))
	return id
}

func (r *reader) uvarint() uint32 {
	u, n := binary.Uvarint(r.src)
	if n <= 0 {
		r.fail(errShort)
		return 0
	}
	if u > math.MaxUint32 {
		r.fail(errMalformed)
		return 0
	}
	r.src = r.src[n:]
	return uint32(u)
}

// length reads a length or count, -1 for null.
func (r *reader) length(flexible, short bool) int {
	var n int64
	switch {
	case flexible:
		n = int64(r.uvarint()) - 1
	case short:
		n = int64(r.int16())
	default:
		n = int64(r.int32())
	}
	switch {
	case r.err != nil:
		return 0
	case n < -1:
		r.fail(errMalformed)
		return 0
	case n > int64(len(r.src)):
		r.fail(errShort)
		return 0
	}
	return int(n)
}

func (r *reader) string(flexible bool) string {
	s := r.nullableString(flexible)
	if s == nil {
		r.fail(errNull)
		return ""
	}
	return *s
}

func (r *reader) nullableString(flexible bool) *string {
	n := r.length(flexible, true)
	if n < 0 {
		return nil
	}
	s := string(r.take(n))
	return &s
}

func (r *reader) bytes(flexible bool) []byte {
	n := r.length(flexible, false)
	if n < 0 {
		r.fail(errNull)
		return nil
	}
	return append([]byte(nil), r.take(n)...)
}

// arrayLen reads the count of an array whose elements take at least minSize bytes each.
func (r *reader) arrayLen(flexible bool, minSize int) int {
	n, ok := r.nullableArrayLen(flexible, minSize)
	if !ok {
		r.fail(errNull)
	}
	return n
}

// nullableArrayLen is arrayLen for an array that may be null, which ok == false tells.
func (r *reader) nullableArrayLen(flexible bool, minSize int) (n int, ok bool) {
	n = r.length(flexible, false)
	if n < 0 {
		return 0, false
	}
	if n > len(r.src)/minSize {
		r.fail(errShort)
		return 0, true
	}
	return n, true
}

// present reads the flag before a struct that may be null: a byte, or an unsigned varint if the
// struct is a tagged field.
func (r *reader) present(tagged bool) bool {
	if tagged {
		return r.uvarint() > 0 && r.err == nil
	}
	switch r.int8() {
	case 1:
		return r.err == nil
	case -1:
	default:
		r.fail(errMalformed)
	}
	return false
}

// tags reads the tagged fields. known decodes one and tells whether it knows it; unknown ones are
// skipped, as the protocol has it.
func (r *reader) tags(known func(tag uint32, r *reader) bool) {
	last := int64(-1)
	for range r.uvarint() {
		tag, size := r.uvarint(), r.uvarint()
		if r.err == nil && int64(tag) <= last {
			r.fail(errMalformed)
		}
		last = int64(tag)
		if r.err == nil && int64(size) > int64(len(r.src)) {
			r.fail(errShort)
		}
		if r.err != nil {
			return
		}
		field := reader{src: r.take(int(size))}
		if known == nil || !known(tag, &field) {
			continue
		}
		if field.err == nil && len(field.src) > 0 {
			field.err = errMalformed
		}
		if field.err != nil {
			r.fail(field.err)
			return
		}
	}
}
`
