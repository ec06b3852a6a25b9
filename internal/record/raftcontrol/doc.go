// Package raftcontrol holds the control records of Kafka's metadata log and its snapshots: who leads, who votes, what a
// snapshot covers. A record's type is the type of its key. Types and codecs are generated from Kafka's schemas.
package raftcontrol

import (
	"encoding/binary"
	"fmt"
)

//go:generate go run ../../gen -package raftcontrol -schemas ../../gen/schemas/raft-control -out .

// Record is a control record, such as *VotersRecord.
type Record interface {
	RecordType() int16
	MaxVersion() int16
	AppendTo(dst []byte, version int16) []byte
	ReadFrom(src []byte, version int16) (rest []byte, err error)
	AppendJSON(dst []byte, version int16) []byte
}

// Read reads the value of a control record of a type, and tells its version, which is its first field. The error is a
// *TypeError or *VersionError if the type or version isn't known.
func Read(recordType int16, src []byte) (r Record, version int16, err error) {
	if r = newRecord(recordType); r == nil {
		return nil, 0, &TypeError{Type: recordType}
	}
	if len(src) < 2 {
		return nil, 0, fmt.Errorf("control record of type %d: %w", recordType, errShort)
	}
	version = int16(binary.BigEndian.Uint16(src))
	if _, err := r.ReadFrom(src, version); err != nil {
		return nil, 0, fmt.Errorf("control record of type %d: %w", recordType, err)
	}
	return r, version, nil
}
