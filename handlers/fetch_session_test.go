package handlers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/ottla/ottla/internal/record/metadata"
)

// TestFetchSessionScripts plays sessions written down in testdata/fetch_session. Commands:
//
//	produce <partition> <value>…     append to topic t
//	fetch [version=V] [session=S] [epoch=E] [topic=T]
//	      one line a partition: "<partition> <offset>" to ask, "forget <partition>" to forget
//	delete-topic                     delete topic t
//
// The output is the response: error, session, and partitions in order.
func TestFetchSessionScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/fetch_session", func(t *testing.T, path string) {
		b := newBroker(t, nil)
		id := b.create("t", 4)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "produce":
				var partition int
				if _, err := fmt.Sscan(d.CmdArgs[0].Key, &partition); err != nil {
					d.Fatalf(t, "%v", err)
				}
				for _, v := range d.CmdArgs[1:] {
					b.mustProduce("t", partition, v.Key)
				}
				return ""
			case "delete-topic":
				b.apply(&metadata.RemoveTopicRecord{TopicID: id})
				return ""
			case "fetch":
				return describeFetch(ask[*kmsg.FetchResponse](b, scriptedFetch(t, d, id)))
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

func scriptedFetch(t *testing.T, d *datadriven.TestData, id [16]byte) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.MaxBytes, r.SessionEpoch = 1<<20, -1
	version, session, epoch, name := 12, 0, -1, "t"
	d.MaybeScanArgs(t, "version", &version)
	d.MaybeScanArgs(t, "session", &session)
	d.MaybeScanArgs(t, "epoch", &epoch)
	d.MaybeScanArgs(t, "topic", &name)
	r.Version, r.SessionID, r.SessionEpoch = int16(version), int32(session), int32(epoch)
	topic := kmsg.NewFetchRequestTopic()
	forgotten := kmsg.NewFetchRequestForgottenTopic()
	if version >= 13 {
		topic.TopicID, forgotten.TopicID = id, id
	} else {
		topic.Topic, forgotten.Topic = name, name
	}
	for line := range strings.Lines(d.Input) {
		p := kmsg.NewFetchRequestTopicPartition()
		p.PartitionMaxBytes = 1 << 20
		if n, _ := fmt.Sscanf(line, "forget %d", &p.Partition); n == 1 {
			forgotten.Partitions = append(forgotten.Partitions, p.Partition)
			continue
		}
		if _, err := fmt.Sscan(line, &p.Partition, &p.FetchOffset); err != nil {
			d.Fatalf(t, "%q: %v", line, err)
		}
		topic.Partitions = append(topic.Partitions, p)
	}
	if topic.Partitions != nil {
		r.Topics = append(r.Topics, topic)
	}
	if forgotten.Partitions != nil {
		r.ForgottenTopics = append(r.ForgottenTopics, forgotten)
	}
	return r
}

func describeFetch(resp *kmsg.FetchResponse) string {
	var out strings.Builder
	fmt.Fprintf(&out, "error=%d session=%d\n", resp.ErrorCode, resp.SessionID)
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			fmt.Fprintf(&out, "%d: error=%d high-watermark=%d records=%t\n", p.Partition, p.ErrorCode, p.HighWatermark, len(p.RecordBatches) > 0)
		}
	}
	return out.String()
}

// TestFetchSessionAgainstModel plays random sessions, each request also as a full fetch without a
// session. What the incremental answers tell, added up on the client's side, must always be what
// the full answer says.
func TestFetchSessionAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBroker(t, nil)
		defer b.replicas.Close()
		const partitions = 5
		b.create("t", partitions)
		asked := map[int32]int64{} // partition to fetch offset
		known := map[int32]int64{} // partition to high watermark, as the answers told
		session, epoch := int32(0), int32(0)
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			for range rapid.IntRange(0, 2).Draw(rt, "appends") {
				b.mustProduce("t", rapid.IntRange(0, partitions-1).Draw(rt, "to"), "v")
			}
			r := kmsg.NewPtrFetchRequest()
			r.Version, r.MaxBytes, r.SessionID, r.SessionEpoch = 12, 1<<20, session, epoch
			topic := kmsg.NewFetchRequestTopic()
			topic.Topic = "t"
			ask1 := func(partition int32, offset int64) {
				p := kmsg.NewFetchRequestTopicPartition()
				p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 1<<20
				topic.Partitions = append(topic.Partitions, p)
				asked[partition] = offset
			}
			for range rapid.IntRange(0, 3).Draw(rt, "changes") {
				partition := rapid.Int32Range(0, partitions-1).Draw(rt, "partition")
				if slices.ContainsFunc(r.ForgottenTopics, func(f kmsg.FetchRequestForgottenTopic) bool { return f.Partitions[0] == partition }) {
					continue
				}
				if _, ok := asked[partition]; ok && epoch > 0 && rapid.Bool().Draw(rt, "forget") {
					if slices.ContainsFunc(topic.Partitions, func(p kmsg.FetchRequestTopicPartition) bool { return p.Partition == partition }) {
						continue
					}
					f := kmsg.NewFetchRequestForgottenTopic()
					f.Topic, f.Partitions = "t", []int32{partition}
					r.ForgottenTopics = append(r.ForgottenTopics, f)
					delete(asked, partition)
					delete(known, partition)
					continue
				}
				ask1(partition, b.end(partition))
			}
			if topic.Partitions != nil {
				r.Topics = append(r.Topics, topic)
			}
			resp := ask[*kmsg.FetchResponse](b, r)
			if resp.ErrorCode != 0 {
				rt.Fatalf("error %d", resp.ErrorCode)
			}
			for _, rt := range resp.Topics {
				for _, p := range rt.Partitions {
					known[p.Partition] = p.HighWatermark
				}
			}
			for partition := range asked {
				if known[partition] != b.end(partition) {
					rt.Fatalf("partition %d: the client believes in high watermark %d, it is %d", partition, known[partition], b.end(partition))
				}
			}
			if len(known) != len(asked) {
				rt.Fatalf("answers told of %d partitions, asked for are %d", len(known), len(asked))
			}
			switch {
			case resp.SessionID == 0: // The session ended since it was empty.
				if len(asked) != 0 {
					rt.Fatalf("session with %d partitions ended", len(asked))
				}
				session, epoch = 0, 0
			case epoch == 0:
				session, epoch = resp.SessionID, 1
			default:
				epoch++
			}
		}
	})
}

// end is a partition's high watermark.
func (b *broker) end(partition int32) int64 {
	p, _, err := b.replicas.Led("t", partition)
	if err != nil {
		b.t.Fatal(err)
	}
	return p.HighWatermark()
}

// TestFetchSessionEviction fills the cache: a larger newcomer takes the place of a smaller session
// only when that is old, anyone takes the place of one that is unused, and followers come first.
func TestFetchSessionEviction(t *testing.T) {
	now := time.Unix(1000, 0)
	session := func(size int, privileged bool) *fetchSession {
		s := newFetchSession(false, privileged, now)
		for i := range size {
			s.at(fetchKey{topic: "t", partition: int32(i)})
		}
		return s
	}
	f := newFetchSessions(rand.New(rand.NewPCG(1, 2)).Uint64)
	small := f.create(session(1, false), 2, now)
	large := f.create(session(5, false), 2, now)
	if small == 0 || large == 0 || small == large {
		t.Fatalf("ids %d and %d", small, large)
	}
	if id := f.create(session(9, false), 2, now); id != 0 {
		t.Error("a newcomer took the place of a young session")
	}
	if id := f.create(session(1, true), 2, now); id == 0 || f.byID[small] != nil {
		t.Error("a follower's session didn't take the place of the smallest")
	}
	now = now.Add(fetchSessionEviction + time.Second)
	for _, s := range f.byID {
		s.lastUsed = now
	}
	if id := f.create(session(5, false), 2, now); id != 0 {
		t.Error("a newcomer of the same size took a place")
	}
	if id := f.create(session(6, false), 2, now); id == 0 || f.byID[large] != nil {
		t.Error("a larger newcomer didn't take the place of an old session")
	}
	now = now.Add(fetchSessionEviction + time.Second)
	if id := f.create(session(1, false), 2, now); id == 0 {
		t.Error("an unused session kept its place")
	}
	if n := len(f.byID); n != 2 {
		t.Errorf("%d sessions in 2 slots", n)
	}
	if id := f.create(session(1, true), 0, now); id != 0 {
		t.Error("a session without any slots")
	}
}
