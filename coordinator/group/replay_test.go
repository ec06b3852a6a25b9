package group_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/coordinator/group"
	"github.com/ottla/ottla/coordinator/group/classic"
	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/internal/record/offsets"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describeAndFetch is what the machine tells of a group, and of all.
func describeAndFetch(b *bench, id string) string {
	var s strings.Builder
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Version, describe.Groups = 6, []string{id}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Groups = []kmsg.OffsetFetchRequestGroup{{Group: id}}
	for _, req := range []kmsg.Request{describe, fetch, kmsg.NewPtrListGroupsRequest()} {
		call := b.Call(&group.Request{Body: req})
		s.WriteString(show(b.Replies[call]) + "\n")
	}
	return s.String()
}

// TestReplayEveryVersion loads records of all versions that Kafka ever wrote; what a version
// doesn't have gets Kafka's default.
func TestReplayEveryVersion(t *testing.T) {
	id, instance := [16]byte{1}, "i"
	for version := int16(0); version <= 4; version++ {
		v := offsets.OffsetCommitValue{Offset: 5, LeaderEpoch: 2, Metadata: "m", CommitTimestamp: 1000, ExpireTimestamp: 9000, TopicID: id}
		b := newBench(t, config(), time.UnixMilli(0), []machine.Record{{
			Key:   offsets.AppendKey(nil, &offsets.OffsetCommitKey{Group: "g", Topic: "t"}),
			Value: offsets.AppendValue(nil, &v, version),
		}})
		epoch := " -1 "
		if version >= 3 {
			epoch = " 2 "
		}
		if got := describeAndFetch(b, "g"); !strings.Contains(got, "[t-0 5"+epoch+`"m"]`) || !strings.Contains(got, "[g  Empty classic]") {
			t.Errorf("OffsetCommitValue %d: %s", version, got)
		}
		// Only version 1 has a time to expire at of its own, long before the retention of one hour.
		b.Advance(20 * time.Minute)
		if got := describeAndFetch(b, "g"); strings.Contains(got, "t-0") != (version != 1) {
			t.Errorf("OffsetCommitValue %d after 20 minutes: %s", version, got)
		}
	}
	for version := int16(0); version <= 3; version++ {
		protocol, leader := "range", "m1"
		v := offsets.GroupMetadataValue{ProtocolType: "consumer", Generation: 4, Protocol: &protocol, Leader: &leader, CurrentStateTimestamp: 7,
			Members: []offsets.GroupMetadataValueMemberMetadata{{MemberID: "m1", ClientID: "c", ClientHost: "/h", SessionTimeout: 10000, RebalanceTimeout: 30000,
				Subscription: subscription("t"), Assignment: []byte("a")}}}
		if version >= 3 {
			v.Members[0].GroupInstanceID = &instance
		}
		records := []machine.Record{{Key: classic.MetadataKey("g"), Value: offsets.AppendValue(nil, &v, version)}}
		b := newBench(t, config(), time.UnixMilli(0), records)
		want := "[m1 null c /h"
		if version >= 3 {
			want = "[m1 i c /h"
		}
		if got := describeAndFetch(b, "g"); !strings.Contains(got, "state=Stable protocol=consumer/range "+want) || !strings.Contains(got, `assignment="a"`) {
			t.Errorf("GroupMetadataValue %d: %s", version, got)
		}
		// G13: a member that comes from the log is held to its session timeout, not to its rebalance timeout.
		b.Advance(10 * time.Second)
		b.flush()
		if got := describeAndFetch(b, "g"); version < 3 && !strings.Contains(got, "state=Empty") {
			t.Errorf("GroupMetadataValue %d after its session: %s", version, got)
		}
	}
	// Versions 0 and 1 of the key have a value layout of their own.
	b := newBench(t, config(), time.UnixMilli(0), []machine.Record{{
		Key:   offsets.AppendKey(nil, &offsets.LegacyOffsetCommitKey{Group: "g", Topic: "t", Partition: 3}),
		Value: offsets.AppendValue(nil, &offsets.LegacyOffsetCommitValue{Offset: 8, Metadata: "old", CommitTimestamp: 1}, 0),
	}})
	if got := describeAndFetch(b, "g"); !strings.Contains(got, `[t-3 8 -1 "old"]`) {
		t.Errorf("legacy commit: %s", got)
	}
}

// TestReplayStopsAtNewerVersions: a value that this version can't read stops the load, a kind of
// record that it doesn't know doesn't, and tombstones of what never was are fine.
func TestReplayStopsAtNewerVersions(t *testing.T) {
	m := group.New(config())
	commit := offsets.AppendKey(nil, &offsets.OffsetCommitKey{Group: "g", Topic: "t"})
	var version *offsets.VersionError
	for _, key := range [][]byte{commit, classic.MetadataKey("g")} {
		if err := m.Replay(machine.Record{Key: key, Value: []byte{0, 99, 0}}); !errors.As(err, &version) || version.Version != 99 {
			t.Errorf("version 99: %v", err)
		}
		if err := m.Replay(machine.Record{Key: key, Value: []byte{0, 0}}); err == nil {
			t.Error("a value that is cut short was taken")
		}
		if err := m.Replay(machine.Record{Key: key, Value: []byte{}}); err == nil {
			t.Error("an empty value was taken; only null is a tombstone")
		}
		if err := m.Replay(machine.Record{Key: key}); err != nil {
			t.Errorf("tombstone: %v", err)
		}
	}
	for _, key := range [][]byte{{0}, {0, 2, 0, 9}, {0, 1}} {
		if err := m.Replay(machine.Record{Key: key}); err == nil {
			t.Errorf("key %x was taken", key)
		}
	}
	if err := m.Replay(machine.Record{Key: []byte{0, 111, 1}, Value: []byte{1}}); err != nil {
		t.Errorf("unknown kind: %v", err)
	}
	// Kinds that are known, and not of classic groups, are left to the machines that own them.
	other := offsets.AppendKey(nil, &offsets.ConsumerGroupMetadataKey{GroupID: "g"})
	value := offsets.AppendValue(nil, &offsets.ConsumerGroupMetadataValue{Epoch: 1}, 0)
	if err := m.Replay(machine.Record{Key: other, Value: value}); err != nil {
		t.Errorf("record of a consumer group: %v", err)
	}
	if got := describeAndFetch(newBench(t, config(), time.UnixMilli(0), nil), "g"); !strings.Contains(got, "state=Dead") {
		t.Errorf("groups out of nothing: %s", got)
	}
}

// FuzzReplay loads two hostile records and lets the machine work on what came of them. It must
// take or refuse each without a panic and without allocating beyond a multiple of their size, read the
// same from the same records, and answer afterwards.
func FuzzReplay(f *testing.F) {
	raw, err := os.ReadFile("../../handlers/testdata/groups_oracle.json")
	if err != nil {
		f.Fatal(err)
	}
	var golden struct{ Records map[string][][2]string }
	if err := json.Unmarshal(raw, &golden); err != nil {
		f.Fatal(err)
	}
	for _, records := range golden.Records {
		for i := 1; i < len(records); i += 7 {
			var b [4][]byte
			for j, s := range []string{records[i-1][0], records[i-1][1], records[i][0], records[i][1]} {
				b[j], _ = hex.DecodeString(s) // "null" isn't hex
			}
			f.Add(b[0], b[1], b[2], b[3])
		}
	}
	f.Add([]byte{0, 2, 0, 1, 'g'}, []byte{0, 3, 0, 8, 'c', 'o', 'n', 's', 'u', 'm', 'e', 'r', 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 0xff, 0xff, 0xff}, []byte{0, 99}, []byte(nil))
	f.Add([]byte{0, 1, 0, 1, 'g', 0, 1, 't', 0, 0, 0, 0}, []byte{0, 99}, []byte{0, 3, 0, 1, 'g'}, []byte{0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, key1, value1, key2, value2 []byte) {
		load := func() (*bench, []error) {
			m := group.New(config())
			var errs []error
			var good []machine.Record
			for _, r := range []machine.Record{{Key: key1, Value: value1}, {Key: key2, Value: value2}, {Key: key1}} {
				err := m.Replay(r)
				errs = append(errs, err)
				if err == nil {
					good = append(good, r)
				}
			}
			return newBench(t, config(), time.UnixMilli(0), good[:max(0, len(good)-1)]), errs
		}
		b, errs := load()
		again, errsAgain := load()
		for i := range errs {
			if (errs[i] == nil) != (errsAgain[i] == nil) {
				t.Fatalf("record %d: %v, then %v", i, errs[i], errsAgain[i])
			}
		}
		if k, err := offsets.ReadKey(key1); err == nil && errs[2] != nil {
			t.Fatalf("tombstone of %+v: %v", k, errs[2])
		}
		for _, id := range []string{"g", ""} {
			if x, y := describeAndFetch(b, id), describeAndFetch(again, id); x != y {
				t.Fatalf("%s\n%s", x, y)
			}
		}
		// Whatever was loaded, time and newcomers are handled.
		join := kmsg.NewPtrJoinGroupRequest()
		join.Version, join.Group, join.ProtocolType, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 3, "g", "consumer", 10000, 20000
		join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription("t")}}
		b.Call(&group.Request{Body: join})
		b.Advance(time.Hour)
	})
}
