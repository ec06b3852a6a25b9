package metadata

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
)

// readGolden yields the values of a golden file.
func readGolden(t testing.TB) (values [][]byte) {
	t.Helper()
	f, err := os.Open("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		_, word, _ := strings.Cut(s.Text(), " ")
		b, err := hex.DecodeString(word)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, b)
	}
	return values
}

// TestGoldenRecords decodes records from a metadata log of Kafka 4.4.0 and encodes them again: the
// bytes must be the same. To record again see internal/gen/golden.
func TestGoldenRecords(t *testing.T) {
	seen := map[int16]bool{}
	for _, b := range readGolden(t) {
		r, version, err := Read(b)
		if err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		if got := Append(nil, r, version); !bytes.Equal(got, b) {
			t.Errorf("%+v: encoded %x, want %x", r, got, b)
		}
		seen[r.RecordType()] = true
	}
	for _, want := range []int16{RegisterBrokerRecordType, TopicRecordType, PartitionRecordType,
		ConfigRecordType, RemoveTopicRecordType, FeatureLevelRecordType, ProducerIdsRecordType,
		BrokerRegistrationChangeRecordType, NoOpRecordType, RegisterControllerRecordType} {
		if !seen[want] {
			t.Errorf("no golden record has type %d", want)
		}
	}
}

// TestDefaultsAndTags pins what a partition change without changes looks like, and that tags are
// written in order though the schema's fields aren't.
func TestDefaultsAndTags(t *testing.T) {
	var r PartitionChangeRecord
	r.Reset()
	if r.Leader != -2 || r.PartitionID != -1 || r.LeaderRecoveryState != -1 || r.ISR != nil {
		t.Errorf("defaults: %+v", r)
	}
	r.PartitionID = 1
	if got, want := hex.EncodeToString(Append(nil, &r, 2)), "010502"+"00000001"+strings.Repeat("00", 16)+"00"; got != want {
		t.Errorf("without changes:\n got %s\nwant %s", got, want)
	}
	r.ISR, r.Leader, r.Directories, r.EligibleLeaderReplicas = []int32{}, 7, [][16]byte{}, []int32{2}
	want := "010502" + "00000001" + strings.Repeat("00", 16) + "04" + "000101" + "010400000007" + "06050200000002" + "080101"
	got := Append(nil, &r, 2)
	if hex.EncodeToString(got) != want {
		t.Errorf("with changes:\n got %x\nwant %s", got, want)
	}
	back, _, err := Read(got)
	if err != nil || !reflect.DeepEqual(back, &r) {
		t.Errorf("read back %+v: %v", back, err)
	}
	// Version 0 has no directories and no ELR; they are left out.
	back, _, err = Read(Append(nil, &r, 0))
	if c, ok := back.(*PartitionChangeRecord); err != nil || !ok || c.Directories != nil || c.EligibleLeaderReplicas != nil {
		t.Errorf("version 0 read back %+v: %v", back, err)
	}
}

// TestUnknownTagIsSkipped checks that a tag of a later minor change doesn't stop a reader.
func TestUnknownTagIsSkipped(t *testing.T) {
	r, _, err := Read([]byte{1, 12, 0, 2, 'f', 0, 3, 1, 9, 2, 0xaa, 0xbb})
	want := &FeatureLevelRecord{Name: "f", FeatureLevel: 3}
	if err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestRefusals checks that damaged and unknown records are errors of the right kind.
func TestRefusals(t *testing.T) {
	var typeErr *TypeError
	if _, _, err := Read([]byte{1, 30, 0}); !errors.As(err, &typeErr) || typeErr.Type != 30 {
		t.Errorf("unknown type: %v", err)
	}
	var versionErr *VersionError
	if _, _, err := Read([]byte{1, 2, 9}); !errors.As(err, &versionErr) || versionErr.Version != 9 {
		t.Errorf("unknown version: %v", err)
	}
	for _, bad := range [][]byte{nil, {2, 2, 0}, {1}, {1, 0x80}, {1, 20, 0, 0, 0}, {1, 12, 0, 0, 0, 0, 0}, {1, 12, 0, 1, 0, 0, 2, 5, 0, 5, 0},
		{1, 5, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0xff}} {
		if r, _, err := Read(bad); err == nil {
			t.Errorf("%x was read as %+v", bad, r)
		}
	}
}

// FuzzRead asserts that whatever is accepted comes back equal after encoding and decoding.
func FuzzRead(f *testing.F) {
	for _, b := range readGolden(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, version, err := Read(b)
		if err != nil {
			return
		}
		encoded := Append(nil, r, version)
		back, backVersion, err := Read(encoded)
		if err != nil || backVersion != version {
			t.Fatalf("%+v came back as %+v: %v", r, back, err)
		}
		if !bytes.Equal(Append(nil, back, version), encoded) || len(encoded) > len(b) {
			t.Fatalf("%x: encoded as %x", b, encoded)
		}
	})
}
