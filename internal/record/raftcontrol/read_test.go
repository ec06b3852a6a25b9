package raftcontrol

import (
	"bytes"
	"errors"
	"testing"
)

// records are one of each type, with something in it.
func records() []Record {
	voter := []LeaderChangeMessageVoter{{VoterID: 1, VoterDirectoryID: [16]byte{7}}}
	return []Record{
		&LeaderChangeMessage{LeaderID: 1, Voters: voter, GrantingVoters: voter}, &SnapshotHeaderRecord{LastContainedLogTimestamp: 5}, &SnapshotFooterRecord{},
		&KRaftVersionRecord{KRaftVersion: 1}, &VotersRecord{Voters: []VotersRecordVoter{{VoterID: 1, Endpoints: []VotersRecordEndpoint{{Name: "C", Host: "h", Port: 65535}}}}},
	}
}

// TestRead: the version that a record names is the one that it is read in, and every prefix of it lacks something.
func TestRead(t *testing.T) {
	for _, r := range records() {
		b := r.AppendTo(nil, 0)
		got, version, err := Read(r.RecordType(), b)
		if err != nil || version != 0 || !bytes.Equal(got.AppendTo(nil, 0), b) {
			t.Errorf("%T: %+v, version %d, %v", r, got, version, err)
		}
		for n := range b {
			if _, _, err := Read(r.RecordType(), b[:n]); err == nil {
				t.Errorf("%T: %d of %d bytes were read without an error", r, n, len(b))
			}
		}
	}
	one := &LeaderChangeMessage{Version: 1, LeaderID: 1, Voters: []LeaderChangeMessageVoter{{VoterID: 1, VoterDirectoryID: [16]byte{7}}}}
	got, version, err := Read(one.RecordType(), one.AppendTo(nil, 1))
	if err != nil || version != 1 || got.(*LeaderChangeMessage).Voters[0].VoterDirectoryID != ([16]byte{7}) {
		t.Errorf("version 1: %+v, %d, %v", got, version, err)
	}
	var typeErr *TypeError
	if _, _, err := Read(99, []byte{0, 0}); !errors.As(err, &typeErr) {
		t.Errorf("unknown type: %v", err)
	}
	var versionErr *VersionError
	if _, _, err := Read(VotersRecordType, []byte{0, 9}); !errors.As(err, &versionErr) {
		t.Errorf("unknown version: %v", err)
	}
}

// FuzzRead: whatever is accepted is encoded to what decodes and encodes to the same.
func FuzzRead(f *testing.F) {
	for _, r := range records() {
		f.Add(r.RecordType(), r.AppendTo(nil, 0))
	}
	f.Fuzz(func(t *testing.T, recordType int16, b []byte) {
		r, version, err := Read(recordType, b)
		if err != nil {
			return
		}
		_ = r.AppendJSON(nil, version)
		encoded := r.AppendTo(nil, version)
		back, _, err := Read(recordType, encoded)
		if err != nil || !bytes.Equal(back.AppendTo(nil, version), encoded) {
			t.Fatalf("%+v came back as %+v: %v", r, back, err)
		}
	})
}
