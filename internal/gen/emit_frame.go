package main

import "fmt"

// frameFile returns frame_gen.go of a coordinator's records: what stands before a key and before a value.
func frameFile(pkg string) string { return header + fmt.Sprintf(frameSource, pkg) }

// frameSource is frame_gen.go, the same for all schemas.
const frameSource = `package %s

import (
	"encoding/binary"
	"fmt"
)

// Key is the key of a record. Keys have version 0 only.
type Key interface {
	RecordType() int16
	AppendTo(dst []byte, version int16) []byte
	ReadFrom(src []byte, version int16) (rest []byte, err error)
	AppendJSON(dst []byte, version int16) []byte
}

// Value is the value of a record.
type Value interface {
	RecordType() int16
	MaxVersion() int16
	AppendTo(dst []byte, version int16) []byte
	ReadFrom(src []byte, version int16) (rest []byte, err error)
	AppendJSON(dst []byte, version int16) []byte
}

// frameSize is the length of the record type before a key and of the version before a value.
const frameSize = 2

// AppendKey appends a key with its record type.
func AppendKey(dst []byte, k Key) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(k.RecordType()))
	return k.AppendTo(dst, 0)
}

// ReadKey reads a key. The error is a *TypeError if the record's type isn't known; readers skip
// such records, as Kafka does, since a newer broker may have written them.
func ReadKey(src []byte) (Key, error) {
	if len(src) < frameSize {
		return nil, fmt.Errorf("record key: %%w", errShort)
	}
	recordType := int16(binary.BigEndian.Uint16(src))
	k := newKey(recordType)
	if k == nil {
		return nil, &TypeError{Type: recordType}
	}
	if _, err := k.ReadFrom(src[frameSize:], 0); err != nil {
		return nil, fmt.Errorf("key of record type %%d: %%w", recordType, err)
	}
	return k, nil
}

// AppendValue appends a value with its version. Requires: the type has that version.
func AppendValue(dst []byte, v Value, version int16) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(version))
	return v.AppendTo(dst, version)
}

// ReadValue reads the value that belongs to a key of a record type, and tells its version. A null
// value (a tombstone) isn't for ReadValue. The error is a *TypeError or *VersionError if the type
// or version isn't known.
func ReadValue(recordType int16, src []byte) (v Value, version int16, err error) {
	if len(src) < frameSize {
		return nil, 0, fmt.Errorf("value of record type %%d: %%w", recordType, errShort)
	}
	if v = newValue(recordType); v == nil {
		return nil, 0, &TypeError{Type: recordType}
	}
	version = int16(binary.BigEndian.Uint16(src))
	if _, err := v.ReadFrom(src[frameSize:], version); err != nil {
		return nil, 0, fmt.Errorf("value of record type %%d: %%w", recordType, err)
	}
	return v, version, nil
}
`
