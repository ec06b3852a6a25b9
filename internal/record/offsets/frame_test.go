package offsets

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

// readGolden yields the records of a golden file: key and value in hex, "-" for null.
func readGolden(t testing.TB, name string) (records [][2][]byte) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var rec [2][]byte
		for i, word := range strings.Fields(s.Text()) {
			if word != "-" {
				if rec[i], err = hex.DecodeString(word); err != nil {
					t.Fatal(err)
				}
			}
		}
		records = append(records, rec)
	}
	return records
}

// TestGoldenRecords decodes records written by Kafka 4.4.0 and encodes them again: the bytes must
// be the same, so that stock tools and a returning Kafka read what we write. To record again see
// internal/gen/golden.
func TestGoldenRecords(t *testing.T) {
	seen := map[string]bool{}
	for _, rec := range readGolden(t, "testdata/golden.txt") {
		key, err := ReadKey(rec[0])
		if err != nil {
			t.Fatalf("key %x: %v", rec[0], err)
		}
		if got := AppendKey(nil, key); !bytes.Equal(got, rec[0]) {
			t.Errorf("key %+v: encoded %x, want %x", key, got, rec[0])
		}
		seen[reflect.TypeOf(key).Elem().Name()] = true
		if rec[1] == nil {
			continue
		}
		value, version, err := ReadValue(key.RecordType(), rec[1])
		if err != nil {
			t.Fatalf("value %x: %v", rec[1], err)
		}
		if got := AppendValue(nil, value, version); !bytes.Equal(got, rec[1]) {
			t.Errorf("value %+v: encoded %x, want %x", value, got, rec[1])
		}
		seen[reflect.TypeOf(value).Elem().Name()] = true
	}
	for _, name := range []string{"OffsetCommitKey", "OffsetCommitValue", "GroupMetadataKey", "GroupMetadataValue",
		"ConsumerGroupMetadataValue", "ConsumerGroupMemberMetadataValue", "ConsumerGroupCurrentMemberAssignmentValue",
		"ConsumerGroupTargetAssignmentMemberValue", "ShareGroupMetadataValue", "ShareGroupCurrentMemberAssignmentValue",
		"ShareGroupStatePartitionMetadataValue"} {
		if !seen[name] {
			t.Errorf("no golden record has a %s", name)
		}
	}
}

// TestFieldValues pins the fields of a few records by hand, so that two mistakes which cancel each
// other in a round trip are seen.
func TestFieldValues(t *testing.T) {
	instance := "i-1"
	topicID := [16]byte{1, 2, 3}
	for _, c := range []struct {
		key     Key
		value   Value
		version int16
		bytes   string
	}{
		{&OffsetCommitKey{Group: "g", Topic: "to", Partition: 3},
			&OffsetCommitValue{Offset: 5, LeaderEpoch: 1, Metadata: "m", CommitTimestamp: 9, ExpireTimestamp: -1, TopicID: topicID}, 4,
			"0004" + "0000000000000005" + "00000001" + "026d" + "0000000000000009" + "01" + "0010" + "01020300000000000000000000000000"},
		{&OffsetCommitKey{Group: "g", Topic: "to", Partition: 3},
			&OffsetCommitValue{Offset: 5, LeaderEpoch: -1, Metadata: "m", CommitTimestamp: 9, ExpireTimestamp: 7}, 1,
			"0001" + "0000000000000005" + "00016d" + "0000000000000009" + "0000000000000007"},
		{&GroupMetadataKey{Group: "g"},
			&GroupMetadataValue{ProtocolType: "consumer", Generation: 2, CurrentStateTimestamp: 1, Members: []GroupMetadataValueMemberMetadata{
				{MemberID: "m", GroupInstanceID: &instance, ClientID: "c", ClientHost: "/h", RebalanceTimeout: 4, SessionTimeout: 5, Assignment: []byte{6}}}}, 3,
			"0003" + "0008636f6e73756d6572" + "00000002" + "ffff" + "ffff" + "0000000000000001" + "00000001" +
				"00016d" + "0003692d31" + "000163" + "00022f68" + "00000004" + "00000005" + "00000000" + "0000000106"},
	} {
		got := AppendValue(nil, c.value, c.version)
		if hex.EncodeToString(got) != c.bytes {
			t.Errorf("%+v version %d:\n got %x\nwant %s", c.value, c.version, got, c.bytes)
		}
		back, version, err := ReadValue(c.key.RecordType(), got)
		if err != nil || version != c.version || !reflect.DeepEqual(back, c.value) {
			t.Errorf("read back %+v version %d: %v", back, version, err)
		}
	}
	// A tagged field that is null by value but not by default is written; an empty one isn't.
	for _, c := range []struct {
		epochs []int32
		bytes  string
	}{{nil, "01000100"}, {[]int32{}, "00"}, {[]int32{7}, "0100050200000007"}} {
		v := &ConsumerGroupCurrentMemberAssignmentValue{PartitionsPendingRevocation: nil,
			AssignedPartitions: []ConsumerGroupCurrentMemberAssignmentValueTopicPartitions{{AssignmentEpochs: c.epochs}}}
		want := "0000" + "00000000" + "00000000" + "00" + "02" + strings.Repeat("00", 16) + "01" + c.bytes + "01" + "00"
		got := AppendValue(nil, v, 0)
		if hex.EncodeToString(got) != want {
			t.Errorf("epochs %v:\n got %x\nwant %s", c.epochs, got, want)
		}
		if back, _, err := ReadValue(v.RecordType(), got); err != nil || !reflect.DeepEqual(back, v) {
			t.Errorf("read back %+v: %v", back, err)
		}
	}
	if got := AppendKey(nil, &OffsetCommitKey{Group: "g", Topic: "to", Partition: 3}); hex.EncodeToString(got) != "0001"+"000167"+"0002746f"+"00000003" {
		t.Errorf("key encoded as %x", got)
	}
}

// TestRefusals checks that damaged and unknown records are errors of the right kind.
func TestRefusals(t *testing.T) {
	var typeErr *TypeError
	if _, err := ReadKey([]byte{0x7f, 0x7f}); !errors.As(err, &typeErr) || typeErr.Type != 0x7f7f {
		t.Errorf("unknown key type: %v", err)
	}
	if _, _, err := ReadValue(99, []byte{0, 0}); !errors.As(err, &typeErr) || typeErr.Type != 99 {
		t.Errorf("unknown value type: %v", err)
	}
	var versionErr *VersionError
	if _, _, err := ReadValue(OffsetCommitValueType, []byte{0, 5, 0}); !errors.As(err, &versionErr) || versionErr.Version != 5 {
		t.Errorf("unknown version: %v", err)
	}
	// Every prefix of a value lacks something, and a huge count must not be believed.
	full := AppendValue(nil, &GroupMetadataValue{ProtocolType: "p", Members: []GroupMetadataValueMemberMetadata{{MemberID: "m"}}}, 3)
	for n := range full {
		if _, _, err := ReadValue(GroupMetadataValueType, full[:n]); err == nil {
			t.Errorf("%d of %d bytes were read without an error", n, len(full))
		}
	}
	huge := append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, 0x7f, 0xff, 0xff, 0xff)
	if _, _, err := ReadValue(GroupMetadataValueType, huge); !errors.Is(err, errShort) {
		t.Errorf("huge count: %v", err)
	}
}

// FuzzRecords feeds keys and values: whatever is accepted must come back equal after encoding and
// decoding.
func FuzzRecords(f *testing.F) {
	for _, rec := range readGolden(f, "testdata/golden.txt") {
		f.Add(rec[0], rec[1])
	}
	f.Fuzz(func(t *testing.T, keyBytes, valueBytes []byte) {
		key, err := ReadKey(keyBytes)
		if err != nil {
			return
		}
		again, err := ReadKey(AppendKey(nil, key))
		if err != nil || !reflect.DeepEqual(key, again) {
			t.Fatalf("key %+v came back as %+v: %v", key, again, err)
		}
		value, version, err := ReadValue(key.RecordType(), valueBytes)
		if err != nil {
			return
		}
		back, backVersion, err := ReadValue(key.RecordType(), AppendValue(nil, value, version))
		if err != nil || backVersion != version || !reflect.DeepEqual(value, back) {
			t.Fatalf("value %+v came back as %+v: %v", value, back, err)
		}
	})
}
