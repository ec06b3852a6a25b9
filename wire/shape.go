package wire

//go:generate go run shape_gen.go -schemas "$KAFKA_SCHEMAS"

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The shape of a request is what is needed to walk over its bytes without decoding them. It is
// walked before kmsg sees the bytes: kmsg allocates arrays by the count it reads, and a count that
// costs two bytes on the wire may claim an element of a hundred bytes in memory for each two bytes
// that follow (docs/decisions/0002-decode-amplification.md).

type shapeKind uint8

const (
	kind1 shapeKind = iota
	kind2
	kind4
	kind8
	kind16
	kindString
	kindBytes
	kindStruct
)

// shapeField is a field of a struct, in the order of the wire.
type shapeField struct {
	kind  shapeKind
	array bool
	// low to high are the versions that have the field, nullLow to nullHigh those in which it may be null.
	low, high, nullLow, nullHigh int16
	// tag is the field's tag, or -1 if it isn't tagged.
	tag int8
	// sub is the index in shapeStructs of kindStruct.
	sub uint16
	// elementSize is what the field, or an element of the array, takes in memory, in bytes.
	elementSize uint16
}

// shapeStruct is the range of a struct's fields in shapeFields.
type shapeStruct struct {
	first, count uint16
}

// shapeRoot is the shape of an API's request.
type shapeRoot struct {
	// root is the index in shapeStructs plus one; 0 if the API has no request.
	root uint16
	// flexible is the first version with compact lengths and tags.
	flexible int16
	// size is what the request itself takes in memory, in bytes.
	size uint16
}

// unknownTagSize is about what an unknown tagged field takes in memory beside its bytes.
const unknownTagSize = 96

var (
	errShort   = errors.New("a length or a field goes beyond the end of the request")
	errNull    = errors.New("a field that can't be null is null")
	errVarint  = errors.New("a variable-length integer is too long")
	errTagSize = errors.New("a tagged field's size doesn't match its content")
)

// decodedSize walks over a request's body and returns what its decoded form takes in memory, in
// bytes, without the bytes that it shares with the frame. It fails where a length goes beyond the
// body. It allocates nothing. Bytes after the last field are allowed, as in Kafka.
func decodedSize(key, version int16, body []byte) (int64, error) {
	if key < 0 || key > maxAPIKey || shapeRoots[key].root == 0 {
		return 0, fmt.Errorf("api key %d is unknown", key)
	}
	root := &shapeRoots[key]
	w := shapeWalk{src: body, version: version, flexible: version >= root.flexible, size: int64(root.size)}
	if err := w.walkStruct(root.root - 1); err != nil {
		return 0, err
	}
	return w.size, nil
}

// shapeWalk is the state of one walk.
type shapeWalk struct {
	src      []byte
	version  int16
	flexible bool
	size     int64
}

func (w *shapeWalk) walkStruct(index uint16) error {
	s := shapeStructs[index]
	fields := shapeFields[s.first : s.first+s.count]
	for i := range fields {
		f := &fields[i]
		if f.tag >= 0 || w.version < f.low || w.version > f.high {
			continue
		}
		if err := w.walkField(f); err != nil {
			return err
		}
	}
	if !w.flexible {
		return nil
	}
	return w.walkTags(fields)
}

func (w *shapeWalk) walkField(f *shapeField) error {
	nullable := w.version >= f.nullLow && w.version <= f.nullHigh
	if !f.array {
		if f.kind == kindStruct && nullable {
			if len(w.src) < 1 {
				return errShort
			}
			present := int8(w.src[0]) >= 0
			w.src = w.src[1:]
			if !present {
				return nil
			}
			w.size += int64(f.elementSize)
		}
		return w.walkValue(f, nullable)
	}
	count, err := w.length(4)
	if err != nil {
		return err
	}
	if count < 0 {
		if !nullable {
			return errNull
		}
		return nil
	}
	if n, ok := fixedWidth(f.kind); ok {
		w.size += count * int64(f.elementSize)
		return w.skip(count * int64(n))
	}
	if count > int64(len(w.src)) {
		return errShort // No element is empty.
	}
	w.size += count * int64(f.elementSize)
	if f.kind == kindStruct {
		if width, ok := fixedStruct(f.sub, w.version); ok {
			return w.walkFixed(count, width, f.sub)
		}
	}
	for range count {
		if err := w.walkValue(f, false); err != nil {
			return err
		}
	}
	return nil
}

// fixedStruct is the width of a struct's untagged fields in a version, if none of them varies. Most
// arrays of partitions are such.
func fixedStruct(index uint16, version int16) (width int, ok bool) {
	s := shapeStructs[index]
	fields := shapeFields[s.first : s.first+s.count]
	for i := range fields {
		f := &fields[i]
		if f.tag >= 0 || version < f.low || version > f.high {
			continue
		}
		n, ok := fixedWidth(f.kind)
		if !ok || f.array {
			return 0, false
		}
		width += n
	}
	return width, true
}

// walkFixed walks over an array of structs of fixed width.
func (w *shapeWalk) walkFixed(count int64, width int, index uint16) error {
	if !w.flexible {
		return w.skip(count * int64(width))
	}
	s := shapeStructs[index]
	for range count {
		if len(w.src) <= width {
			return errShort
		}
		tags := w.src[width]
		w.src = w.src[width:]
		if tags == 0 {
			w.src = w.src[1:]
		} else if err := w.walkTags(shapeFields[s.first : s.first+s.count]); err != nil {
			return err
		}
	}
	return nil
}

func fixedWidth(k shapeKind) (int, bool) {
	switch k {
	case kind1:
		return 1, true
	case kind2:
		return 2, true
	case kind4:
		return 4, true
	case kind8:
		return 8, true
	case kind16:
		return 16, true
	}
	return 0, false
}

func (w *shapeWalk) walkValue(f *shapeField, nullable bool) error {
	if n, ok := fixedWidth(f.kind); ok {
		return w.skip(int64(n))
	}
	if f.kind == kindStruct {
		return w.walkStruct(f.sub)
	}
	width := 2
	if f.kind == kindBytes {
		width = 4
	}
	n, err := w.length(width)
	if err != nil {
		return err
	}
	if n < 0 {
		if !nullable {
			return errNull
		}
		return nil
	}
	if f.kind == kindString {
		w.size += (n + 15) &^ 15
	}
	return w.skip(n)
}

// walkTags walks over the tagged fields at the end of a struct.
func (w *shapeWalk) walkTags(fields []shapeField) error {
	count, err := w.uvarint()
	if err != nil {
		return err
	}
	for range count {
		tag, err := w.uvarint()
		if err != nil {
			return err
		}
		size, err := w.uvarint()
		if err != nil {
			return err
		}
		if int64(size) > int64(len(w.src)) {
			return errShort
		}
		value := w.src[:size]
		w.src = w.src[size:]
		f := taggedField(fields, tag, w.version)
		if f == nil {
			w.size += unknownTagSize
			continue
		}
		inner := *w
		inner.src = value
		if err := inner.walkField(f); err != nil {
			return err
		}
		if len(inner.src) != 0 {
			return errTagSize
		}
		w.size = inner.size
	}
	return nil
}

func taggedField(fields []shapeField, tag uint32, version int16) *shapeField {
	for i := range fields {
		if f := &fields[i]; f.tag >= 0 && uint32(f.tag) == tag && version >= f.low && version <= f.high {
			return f
		}
	}
	return nil
}

func (w *shapeWalk) skip(n int64) error {
	if n > int64(len(w.src)) {
		return errShort
	}
	w.src = w.src[n:]
	return nil
}

// length reads a length of the given width, compact in flexible versions; negative means null.
func (w *shapeWalk) length(width int) (int64, error) {
	if w.flexible {
		n, err := w.uvarint()
		return int64(n) - 1, err
	}
	if len(w.src) < width {
		return 0, errShort
	}
	var n int64
	if width == 2 {
		n = int64(int16(binary.BigEndian.Uint16(w.src)))
	} else {
		n = int64(int32(binary.BigEndian.Uint32(w.src)))
	}
	w.src = w.src[width:]
	return n, nil
}

func (w *shapeWalk) uvarint() (uint32, error) {
	n, used := uvarint(w.src)
	switch {
	case used == 0:
		return 0, errShort
	case used < 0:
		return 0, errVarint
	}
	w.src = w.src[used:]
	return n, nil
}

// uvarint reads an unsigned 32-bit varint. It returns the number of bytes it took: 0 if src is too
// short, negative if the value takes more than 32 bits.
func uvarint(src []byte) (uint32, int) {
	var n uint32
	for i := range 5 {
		if i == len(src) {
			return 0, 0
		}
		b := src[i]
		if i == 4 && b > 0x0f {
			return 0, -1
		}
		n |= uint32(b&0x7f) << (7 * i)
		if b < 0x80 {
			return n, i + 1
		}
	}
	return 0, -1
}
