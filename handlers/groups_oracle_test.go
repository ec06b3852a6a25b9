package handlers

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/ottla/ottla/internal/record/offsets"
	"github.com/ottla/ottla/log/batch"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// oracle is set to record testdata/groups_oracle.json anew:
//
//	go test ./handlers -run TestGroupsAgainstOracle -oracle 127.0.0.1:29092
var oracle = flag.String("oracle", "", "address of a single Apache Kafka 4.4.0 to record from")

const groupsGolden = "testdata/groups_oracle.json"

// groupsRecording is what Kafka answered and wrote during groupScenario.
type groupsRecording struct {
	// Prefix begins the names of all groups and of the topic, whose id is TopicID.
	Prefix, TopicID string
	// MemberIDs are the ids that were handed out, in order.
	MemberIDs []string
	Exchanges []exchange
	// Records are those of __consumer_offsets by group, in hex; a value "null" is a tombstone.
	Records map[string][][2]string
}

// exchange is a request's key, version and name, and the body of its response in hex.
type exchange struct{ Request, Response string }

// groupsPlayer runs groupScenario, on the oracle or here.
type groupsPlayer struct {
	t       *testing.T
	prefix  string
	topicID [16]byte
	// send runs a request of its own connection; the response's body comes when it is there.
	send   func(req kmsg.Request) <-chan []byte
	rec    groupsRecording
	groups []string
}

// group is the full name of a group of the scenario.
func (p *groupsPlayer) group(name string) string {
	full := p.prefix + "-" + name
	for _, g := range p.groups {
		if g == full {
			return full
		}
	}
	p.groups = append(p.groups, full)
	return full
}

// wait is a request under way.
type wait[T kmsg.Response] struct {
	p    *groupsPlayer
	req  kmsg.Request
	body <-chan []byte
}

func begin[T kmsg.Response](p *groupsPlayer, version int16, req kmsg.Request) wait[T] {
	req.SetVersion(version)
	return wait[T]{p, req, p.send(req)}
}

func (w wait[T]) end() T {
	p := w.p
	p.t.Helper()
	var body []byte
	select {
	case body = <-w.body:
	case <-time.After(20 * time.Second):
		p.t.Fatalf("%T v%d is not answered", w.req, w.req.GetVersion())
	}
	resp := w.req.ResponseKind()
	resp.SetVersion(w.req.GetVersion())
	if err := resp.ReadFrom(body); err != nil {
		p.t.Fatalf("%T v%d: %v", w.req, w.req.GetVersion(), err)
	}
	p.rec.Exchanges = append(p.rec.Exchanges, exchange{fmt.Sprintf("%d v%d %s", w.req.Key(), w.req.GetVersion(), kmsg.NameForKey(w.req.Key())), hex.EncodeToString(body)})
	if join, ok := resp.(*kmsg.JoinGroupResponse); ok && join.MemberID != "" && join.MemberID != w.req.(*kmsg.JoinGroupRequest).MemberID {
		p.rec.MemberIDs = append(p.rec.MemberIDs, join.MemberID)
	}
	return resp.(T)
}

func exchangeOf[T kmsg.Response](p *groupsPlayer, version int16, req kmsg.Request) T {
	p.t.Helper()
	return begin[T](p, version, req).end()
}

// TestGroupsAgainstOracle plays groupScenario and compares every byte of the responses, and of the
// keys and values in __consumer_offsets, with what Kafka 4.4.0 answered and wrote. Member ids are
// given out as Kafka gave them out; times in values are taken over before the comparison.
func TestGroupsAgainstOracle(t *testing.T) {
	if *oracle != "" {
		recordGroups(t, *oracle)
	}
	raw, err := os.ReadFile(groupsGolden)
	if err != nil {
		t.Fatal(err)
	}
	var want groupsRecording
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	ids := want.MemberIDs
	b := newGroupsBroker(t, groupsOptions{newMemberID: func(string) string {
		if len(ids) == 0 {
			return "one-too-many"
		}
		id := ids[0]
		ids = ids[1:]
		return id
	}})
	p := &groupsPlayer{t: t, prefix: want.Prefix}
	id, err := hex.DecodeString(want.TopicID)
	if err != nil {
		t.Fatal(err)
	}
	copy(p.topicID[:], id)
	b.createWithID(want.Prefix+"-t", p.topicID, 2)
	p.send = func(req kmsg.Request) <-chan []byte {
		done := make(chan []byte, 1)
		sent := b.send(onWire(t, req))
		go func() {
			<-sent.done
			done <- sent.body
		}()
		return done
	}
	groupScenario(p)

	for i, w := range want.Exchanges {
		if i >= len(p.rec.Exchanges) {
			t.Fatalf("exchange %d, %s: missing", i, w.Request)
		}
		if got := p.rec.Exchanges[i]; got.Request != w.Request || canonical(t, got) != canonical(t, w) {
			t.Errorf("exchange %d, %s:\n got %s\nwant %s", i, w.Request, show(t, got), show(t, w))
		}
	}
	got := recordsByGroup(t, b.offsetsLog.Batches(), p.groups)
	for group, records := range want.Records {
		if len(got[group]) != len(records) {
			t.Errorf("group %s: %d records, Kafka wrote %d\n got %v\nwant %v", group, len(got[group]), len(records), got[group], records)
			continue
		}
		for i, w := range records {
			if g, w := withTimesOf(t, got[group][i], w), withTimesOf(t, w, w); g != w {
				t.Errorf("group %s, record %d:\n got %v\nwant %v", group, i, g, w)
			}
		}
	}
}

// onWire is a request as it arrives: what its version has no field for is lost.
func onWire(t *testing.T, req kmsg.Request) kmsg.Request {
	t.Helper()
	arrived := kmsg.RequestForKey(req.Key())
	arrived.SetVersion(req.GetVersion())
	if err := arrived.ReadFrom(req.AppendTo(nil)); err != nil {
		t.Fatalf("%T v%d: %v", req, req.GetVersion(), err)
	}
	return arrived
}

// decode is the response of an exchange, nil if it can't be read.
func decode(t *testing.T, e exchange) kmsg.Response {
	t.Helper()
	var key, version int16
	if _, err := fmt.Sscanf(e.Request, "%d v%d", &key, &version); err != nil {
		t.Fatal(err)
	}
	body, err := hex.DecodeString(e.Response)
	if err != nil {
		t.Fatal(err)
	}
	resp := kmsg.ResponseForKey(key)
	resp.SetVersion(version)
	if err := resp.ReadFrom(body); err != nil {
		t.Fatalf("%s: %v", e.Request, err)
	}
	return resp
}

// canonical is the response in hex, with members in order of their ids: Kafka tells them in the
// order of a hash map; and without the address of a coordinator. Nothing else of the bytes may change
// by being decoded.
func canonical(t *testing.T, e exchange) string {
	t.Helper()
	resp := decode(t, e)
	if again := hex.EncodeToString(resp.AppendTo(nil)); again != e.Response {
		t.Fatalf("%s: %s is %s when encoded again", e.Request, e.Response, again)
	}
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		slices.SortFunc(r.Members, func(a, b kmsg.JoinGroupResponseMember) int { return strings.Compare(a.MemberID, b.MemberID) })
	case *kmsg.FindCoordinatorResponse:
		if r.ErrorCode == 0 && r.Version < 4 {
			r.NodeID, r.Host, r.Port = 0, "", 0
		}
		for i := range r.Coordinators {
			if c := &r.Coordinators[i]; c.ErrorCode == 0 {
				c.NodeID, c.Host, c.Port = 0, "", 0
			}
		}
	case *kmsg.DescribeGroupsResponse:
		for i := range r.Groups {
			slices.SortFunc(r.Groups[i].Members, func(a, b kmsg.DescribeGroupsResponseGroupMember) int { return strings.Compare(a.MemberID, b.MemberID) })
		}
	}
	return hex.EncodeToString(resp.AppendTo(nil))
}

// show is the response for the eye.
func show(t *testing.T, e exchange) string {
	text, err := json.Marshal(decode(t, e))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// recordsByGroup picks the records of groups out of batches.
func recordsByGroup(t *testing.T, raw []byte, groups []string) map[string][][2]string {
	t.Helper()
	codecs := batch.NewCodecs()
	byGroup := map[string][][2]string{}
	for b, err := range batch.All(raw) {
		if err != nil {
			t.Fatal(err)
		}
		reader, err := codecs.Records(&b, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		var r batch.Record
		for reader.Next(&r) {
			key, err := offsets.ReadKey(r.Key)
			if err != nil {
				t.Fatal(err)
			}
			group := ""
			switch k := key.(type) {
			case *offsets.OffsetCommitKey:
				group = k.Group
			case *offsets.GroupMetadataKey:
				group = k.Group
			}
			for _, g := range groups {
				if g == group {
					value := "null"
					if r.Value != nil {
						value = hex.EncodeToString(r.Value)
					}
					byGroup[g] = append(byGroup[g], [2]string{hex.EncodeToString(r.Key), value})
				}
			}
		}
		reader.Close()
	}
	return byGroup
}

// withTimesOf is record got with the times of want, encoded in got's own version, and with members in
// order of their ids; Kafka writes them in the order of a hash map.
func withTimesOf(t *testing.T, got, want [2]string) [2]string {
	t.Helper()
	if got[0] != want[0] || got[1] == "null" || want[1] == "null" {
		return got
	}
	read := func(r [2]string) (offsets.Value, int16) {
		key, _ := hex.DecodeString(r[0])
		value, _ := hex.DecodeString(r[1])
		k, err := offsets.ReadKey(key)
		if err != nil {
			t.Fatal(err)
		}
		v, version, err := offsets.ReadValue(k.RecordType(), value)
		if err != nil {
			t.Fatal(err)
		}
		if again := hex.EncodeToString(offsets.AppendValue(nil, v, version)); again != r[1] {
			t.Fatalf("value %s is %s when encoded again", r[1], again)
		}
		return v, version
	}
	g, version := read(got)
	w, _ := read(want)
	switch g := g.(type) {
	case *offsets.OffsetCommitValue:
		w := w.(*offsets.OffsetCommitValue)
		if (g.ExpireTimestamp == -1) == (w.ExpireTimestamp == -1) {
			if g.ExpireTimestamp != -1 && g.ExpireTimestamp-g.CommitTimestamp != w.ExpireTimestamp-w.CommitTimestamp {
				t.Errorf("retention %d, want %d", g.ExpireTimestamp-g.CommitTimestamp, w.ExpireTimestamp-w.CommitTimestamp)
			}
			g.ExpireTimestamp = w.ExpireTimestamp
		}
		g.CommitTimestamp = w.CommitTimestamp
	case *offsets.GroupMetadataValue:
		w := w.(*offsets.GroupMetadataValue)
		if (g.CurrentStateTimestamp == -1) == (w.CurrentStateTimestamp == -1) {
			g.CurrentStateTimestamp = w.CurrentStateTimestamp
		}
		slices.SortFunc(g.Members, func(a, b offsets.GroupMetadataValueMemberMetadata) int {
			return strings.Compare(a.MemberID, b.MemberID)
		})
	}
	return [2]string{got[0], hex.EncodeToString(offsets.AppendValue(nil, g, version))}
}

// recordGroups plays groupScenario on Kafka and writes the golden.
func recordGroups(t *testing.T, address string) {
	t.Helper()
	send := func(req kmsg.Request) <-chan []byte {
		done := make(chan []byte, 1)
		go func() {
			body, err := roundTrip(address, req)
			if err != nil {
				t.Errorf("%T: %v", req, err)
			}
			done <- body
		}()
		return done
	}
	p := &groupsPlayer{t: t, prefix: fmt.Sprintf("g%d", time.Now().UnixMilli()), send: send}
	create := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = p.prefix+"-t", 2, 1
	create.Topics = append(create.Topics, topic)
	p.topicID = exchangeOf[*kmsg.CreateTopicsResponse](p, 7, create).Topics[0].TopicID
	for code := int16(-1); code != 0; { // the topic isn't known to the broker at once
		req := kmsg.NewPtrMetadataRequest()
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(p.prefix + "-t")
		req.Topics = append(req.Topics, topic)
		code = exchangeOf[*kmsg.MetadataResponse](p, 9, req).Topics[0].ErrorCode
	}
	p.rec.Exchanges = nil
	groupScenario(p)
	exchanges := p.rec.Exchanges
	all := map[string][][2]string{}
	for _, g := range p.groups {
		var h int32
		for _, unit := range utf16.Encode([]rune(g)) {
			h = 31*h + int32(unit)
		}
		fetch := fetchRequest(12, "__consumer_offsets", [16]byte{}, max(h, -h)%50, 0)
		fetch.MaxBytes = 16 << 20
		fetch.Topics[0].Partitions[0].PartitionMaxBytes = 16 << 20
		r := exchangeOf[*kmsg.FetchResponse](p, 12, fetch).Topics[0].Partitions[0]
		all[g] = recordsByGroup(t, r.RecordBatches, []string{g})[g]
	}
	del := kmsg.NewPtrDeleteTopicsRequest()
	del.TopicNames = []string{p.prefix + "-t"}
	exchangeOf[*kmsg.DeleteTopicsResponse](p, 5, del)
	p.rec.Exchanges, p.rec.Records = exchanges, all
	p.rec.Prefix, p.rec.TopicID = p.prefix, hex.EncodeToString(p.topicID[:])
	out, err := json.MarshalIndent(p.rec, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(groupsGolden, append(out, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// roundTrip sends one request on a connection of its own.
func roundTrip(address string, req kmsg.Request) ([]byte, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, req, 1)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(conn, body); err != nil {
		return nil, err
	}
	header := 4
	if resp := req.ResponseKind(); resp.Key() != 18 {
		resp.SetVersion(req.GetVersion())
		if resp.IsFlexible() {
			header = 5
		}
	}
	return bytes.Clone(body[header:]), nil
}

// untilRebalance heartbeats until the member is told of a rebalance; nothing is recorded.
func (p *groupsPlayer) untilRebalance(group, member string, generation int32) {
	p.t.Helper()
	for range 500 {
		req := kmsg.NewPtrHeartbeatRequest()
		req.Group, req.MemberID, req.Generation = group, member, generation
		exchanges := p.rec.Exchanges
		resp := exchangeOf[*kmsg.HeartbeatResponse](p, 4, req)
		p.rec.Exchanges = exchanges
		if resp.ErrorCode == kerr.RebalanceInProgress.Code {
			return
		}
	}
	p.t.Fatal("no rebalance")
}
