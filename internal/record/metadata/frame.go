package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Record is a metadata record, such as *TopicRecord.
type Record interface {
	RecordType() int16
	MaxVersion() int16
	AppendTo(dst []byte, version int16) []byte
	ReadFrom(src []byte, version int16) (rest []byte, err error)
	AppendJSON(dst []byte, version int16) []byte
}

// frameVersion is the only version of the frame so far.
const frameVersion = 1

var (
	errFrame   = errors.New("metadata record: malformed frame")
	errGarbage = errors.New("metadata record: bytes after the last field")
)

// Append appends a framed record. Requires: the type has that version.
func Append(dst []byte, r Record, version int16) []byte {
	dst = appendUvarint(dst, frameVersion)
	dst = appendUvarint(dst, uint32(r.RecordType()))
	dst = appendUvarint(dst, uint32(version))
	return r.AppendTo(dst, version)
}

// Read reads a framed record that takes up all of src, and tells its version. The error is a
// *TypeError or *VersionError if the type or version isn't known.
func Read(src []byte) (r Record, version int16, err error) {
	var header [3]int16
	for i := range header {
		u, n := binary.Uvarint(src)
		if n <= 0 || u > math.MaxInt16 {
			return nil, 0, errFrame
		}
		header[i] = int16(u)
		src = src[n:]
	}
	if header[0] != frameVersion {
		return nil, 0, fmt.Errorf("metadata record: unknown frame version %d", header[0])
	}
	if r = newRecord(header[1]); r == nil {
		return nil, 0, &TypeError{Type: header[1]}
	}
	rest, err := r.ReadFrom(src, header[2])
	if err != nil {
		return nil, 0, fmt.Errorf("metadata record type %d version %d: %w", header[1], header[2], err)
	}
	if len(rest) > 0 {
		return nil, 0, errGarbage
	}
	return r, header[2], nil
}
