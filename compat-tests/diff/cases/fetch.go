package cases

import (
	"bytes"
	"fmt"

	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchCases is about reading without a session.
func fetchCases() []diff.Case {
	l := &list{api: "fetch"}
	l.add("offset-out-of-range-P18", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 10)
		s.Quiet(2, deleteRecords(t, deleteTo(0, 8)))
		for _, v := range []int16{4, 5, 11, 12} {
			for _, offset := range []int64{5, 11, -1, -2} {
				s.Say("offset %d of 8 to 10", offset).Ask(v, fetch(t, from(0, offset)))
			}
		}
		s.Say("at the end").Ask(12, fetch(t, from(0, 10)))
	})
	l.add("offset-in-the-middle-P16", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 3, 4)
		for _, offset := range []int64{1, 2, 5} {
			s.Say("offset %d", offset).Ask(12, fetch(t, from(0, offset)))
		}
	})
	l.add("below-log-start-after-delete-records", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 3, 4)
		s.Quiet(2, deleteRecords(t, deleteTo(0, 4)))
		s.Say("inside the batch that was cut into").Ask(12, fetch(t, from(0, 4)))
		s.Say("before it").Ask(12, fetch(t, from(0, 3)))
	})
	l.add("every-offset-from-the-start-on-P13", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 2, 1, 3)
		s.Quiet(2, deleteRecords(t, deleteTo(0, 1)))
		for o := int64(1); o <= 6; o++ {
			s.Say("offset %d", o).Ask(12, fetch(t, from(0, o)))
		}
	})
	l.add("sizes-O10", func(s *diff.Script) {
		t := s.Topic("t", 2)
		big := func(fill byte) []byte {
			return diff.NewBatch(diff.Record{Time: s.Time(0), Value: bytes.Repeat([]byte{fill}, 1000)}).Encode()
		}
		for range 3 {
			s.Quiet(9, produce(t, -1, partitionData(0, big('a')), partitionData(1, big('b'))))
		}
		ask := func(what string, maxBytes, partitionMax int32) {
			req := fetch(t, from(0, 0), from(1, 0))
			req.MaxBytes = maxBytes
			for i := range req.Topics[0].Partitions {
				req.Topics[0].Partitions[i].PartitionMaxBytes = partitionMax
			}
			s.Say("%s", what).Ask(12, req)
		}
		ask("partition limit below a batch", 1<<20, 10)
		ask("partition limit of 1.5 batches", 1<<20, 1600)
		ask("partition limit of exactly two batches", 1<<20, 2*1070)
		ask("request limit below a batch", 10, 1<<20)
		ask("request limit of 1.5 batches", 1600, 1<<20)
		ask("both zero", 0, 0)
		ask("partition limit negative", 1<<20, -1)
		ask("request limit negative", -1, 1<<20)
	})
	l.add("first-partition-empty", func(s *diff.Script) {
		t := s.Topic("t", 2)
		s.Quiet(9, produce(t, -1, partitionData(1, plain(s, 0, 5).Encode())))
		req := fetch(t, from(0, 0), from(1, 0))
		req.MaxBytes = 1
		s.Ask(12, req)
	})
	l.add("topic-unknown", func(s *diff.Script) {
		for _, v := range []int16{4, 11, 12} {
			s.Ask(v, fetch(s.Name("none"), from(0, 0)))
		}
		s.Say("illegal name").Ask(12, fetch("bad name!", from(0, 0)))
	})
	l.add("topic-id-unknown-P24", func(s *diff.Script) {
		t := s.Topic("t", 1)
		req := fetch("", from(0, 0))
		req.Topics[0].TopicID = noID
		for _, v := range []int16{13, 16, 18} {
			s.Ask(v, req)
		}
		req.Topics[0].TopicID = [16]byte{}
		s.Say("zero id").Ask(13, req)
		known := fetch("", from(0, 0)).Topics[0]
		known.TopicID = s.TopicID(t)
		req.Topics[0].TopicID = noID
		req.Topics = append(req.Topics, known)
		s.Say("unknown and known").Ask(13, req)
		s.Quiet(6, deleteTopics(t))
		s.AwaitNoTopic(t)
		s.Say("both gone").Ask(13, req)
	})
	l.add("partition-unknown", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 1)
		s.Ask(12, fetch(t, from(1, 0), from(-1, 0), from(0, 0)))
		s.Say("no partitions").Ask(12, fetch(t))
		s.Say("partition twice").Ask(12, fetch(t, from(0, 0), from(0, 1)))
	})
	l.add("leader-epochs", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 2)
		for _, epoch := range []int32{0, 1, 7, -1, -2} {
			p := from(0, 0)
			p.CurrentLeaderEpoch = epoch
			s.Say("current leader epoch %d", epoch).Ask(12, fetch(t, p))
		}
		for _, epoch := range []int32{0, 1, -1} {
			p := from(0, 1)
			p.CurrentLeaderEpoch, p.LastFetchedEpoch = 0, epoch
			s.Say("last fetched epoch %d", epoch).Ask(12, fetch(t, p))
		}
		p := from(0, 5)
		p.LastFetchedEpoch = 0
		s.Say("last fetched epoch beyond the end").Ask(12, fetch(t, p))
	})
	l.add("isolation-levels-T05", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 2)
		for _, level := range []int8{0, 1, 2, -1} {
			req := fetch(t, from(0, 0))
			req.IsolationLevel = level
			p := s.On(fmt.Sprintf("level-%d", level))
			p.Ask(12, req)
			p.Fate("after it")
		}
	})
	l.add("zstd-for-old-versions-P21", func(s *diff.Script) {
		t := s.Topic("t", 1)
		b := plain(s, 0, 2)
		b.Codec = diff.CodecZstd
		s.Quiet(9, produceBatch(t, b))
		for _, v := range []int16{4, 9, 10} {
			s.Say("zstd as sent").Ask(v, fetch(t, from(0, 0)))
		}
		t = s.Topic("configured", 1, "compression.type", "zstd")
		s.Say("zstd by topic setting, empty").Ask(9, fetch(t, from(0, 0)))
		fill(s, t, 1)
		for _, v := range []int16{4, 9, 10} {
			s.Say("zstd by topic setting").Ask(v, fetch(t, from(0, 0)))
		}
	})
	l.add("wait-and-min-bytes", func(s *diff.Script) {
		t := s.Topic("t", 1)
		req := fetch(t, from(0, 0))
		req.MaxWaitMillis, req.MinBytes = 15_000, 1
		w := s.On("reader").Send(12, req)
		s.Quiet(9, produceBatch(t, plain(s, 0, 1)))
		s.Say("woken by a produce")
		w.Answer()
		req.MinBytes = 1 << 20
		req.MaxWaitMillis = 200
		s.Say("never enough").Ask(12, req)
		req.MinBytes, req.MaxWaitMillis = 0, 15_000
		req.Topics[0].Partitions[0].FetchOffset = 1
		s.Say("nothing wanted").Ask(12, req)
		req.MinBytes, req.MaxWaitMillis = 1, -5
		s.Say("negative wait").Ask(12, req)
	})
	l.add("error-does-not-wait", func(s *diff.Script) {
		t := s.Topic("t", 1)
		req := fetch(t, from(0, 0), from(5, 0))
		req.MaxWaitMillis, req.MinBytes = 15_000, 1
		s.Ask(12, req)
	})
	l.add("as-a-follower", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 2)
		for _, replica := range []int32{-2, 5, 1} {
			req := fetch(t, from(0, 0))
			req.ReplicaID = replica
			s.Say("replica %d", replica).Ask(12, req)
		}
	})
	l.add("after-recreation-C10", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 2)
		s.Quiet(6, deleteTopics(t))
		s.AwaitNoTopic(t)
		s.Say("deleted").Ask(12, fetch(t, from(0, 0)))
		s.Quiet(7, createTopics(newTopic(t, 1, 1)))
		s.AwaitTopic(t, 1)
		s.Say("created again").Ask(12, fetch(t, from(0, 0)))
	})
	versions(l, 4, 18, func(s *diff.Script, v int16) {
		t := s.Topic("t", 2)
		fill(s, t, 2, 1)
		req := fetch(t, from(0, 0), from(1, 0), from(0+2, 0))
		req.Topics[0].TopicID = s.TopicID(t)
		s.Ask(v, req)
		req.Topics[0].Partitions = req.Topics[0].Partitions[1:2]
		req.IsolationLevel = 1
		s.Say("empty partition, read committed").Ask(v, req)
	})
	return append(l.cases, fetchSessions(l.api)...)
}

// fetchSessions is about KIP-227.
func fetchSessions(api string) []diff.Case {
	l := &list{api: api}
	session := func(req *kmsg.FetchRequest, id, epoch int32) *kmsg.FetchRequest {
		req.SessionID, req.SessionEpoch = id, epoch
		return req
	}
	nothing := func(id, epoch int32) *kmsg.FetchRequest {
		req := fetch("")
		req.Topics = nil
		return session(req, id, epoch)
	}
	for _, v := range []int16{7, 12} {
		l.add(fmt.Sprintf("session-incremental-v%d", v), func(s *diff.Script) {
			t := s.Topic("t", 3)
			fill(s, t, 2)
			id := s.Say("a session begins").Ask(v, session(fetch(t, from(0, 0), from(1, 0)), 0, 0)).(*kmsg.FetchResponse).SessionID
			s.Say("data again, since the position didn't move").Ask(v, nothing(id, 1))
			s.Say("position moved: nothing new").Ask(v, session(fetch(t, from(0, 2)), id, 2))
			s.Quiet(9, produce(t, -1, partitionData(1, plain(s, 0, 1).Encode())))
			s.Say("only what changed").Ask(v, nothing(id, 3))
			s.Say("a partition is added").Ask(v, session(fetch(t, from(2, 0), from(1, 1)), id, 4))
			req := nothing(id, 5)
			f := kmsg.NewFetchRequestForgottenTopic()
			f.Topic, f.Partitions = t, []int32{1}
			req.ForgottenTopics = append(req.ForgottenTopics, f)
			s.Say("one is forgotten").Ask(v, req)
			s.Quiet(9, produce(t, -1, partitionData(1, plain(s, 0, 1).Encode())))
			s.Say("its data doesn't show").Ask(v, nothing(id, 6))
			s.Say("the session ends").Ask(v, session(fetch(t, from(0, 0)), id, -1))
			s.Say("it is gone").Ask(v, nothing(id, 7))
		})
	}
	l.add("session-errors", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 1)
		s.Say("no such session").Ask(12, nothing(987654321, 1))
		s.Say("no such session, full").Ask(12, session(fetch(t, from(0, 0)), 987654321, 0))
		id := s.Say("begin").Ask(12, session(fetch(t, from(0, 0)), 0, 0)).(*kmsg.FetchResponse).SessionID
		s.Say("epoch skipped").Ask(12, nothing(id, 3))
		s.Say("right epoch").Ask(12, nothing(id, 1))
		s.Say("epoch repeated").Ask(12, nothing(id, 1))
		s.Say("id 0 with an epoch").Ask(12, nothing(0, 5))
		s.Say("id 0, final epoch, nothing asked").Ask(12, nothing(0, -1))
		s.Say("epoch below final").Ask(12, nothing(id, -2))
	})
	l.add("session-with-errors-inside", func(s *diff.Script) {
		t := s.Topic("t", 1)
		id := s.Ask(12, session(fetch(t, from(0, 0), from(4, 0)), 0, 0)).(*kmsg.FetchResponse).SessionID
		s.Say("an error shows each time").Ask(12, nothing(id, 1))
		s.Say("offset out of range").Ask(12, session(fetch(t, from(0, 9)), id, 2))
		s.Say("again").Ask(12, nothing(id, 3))
	})
	l.add("session-with-topic-ids", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 1)
		req := session(fetch("", from(0, 0)), 0, 0)
		req.Topics[0].TopicID = s.TopicID(t)
		id := s.Ask(13, req).(*kmsg.FetchResponse).SessionID
		s.Say("changing to names").Ask(12, nothing(id, 1))
		s.Say("back to ids").Ask(13, nothing(id, 1))
		unknown := session(fetch("", from(0, 0)), id, 2)
		unknown.Topics[0].TopicID = noID
		s.Say("an unknown id is added").Ask(13, unknown)
		s.Say("and remembered").Ask(13, nothing(id, 3))
		s.Quiet(6, deleteTopics(t))
		s.AwaitNoTopic(t)
		s.Say("topic deleted").Ask(13, nothing(id, 4))
	})
	l.add("session-replaced", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 1)
		id := s.Ask(12, session(fetch(t, from(0, 0)), 0, 0)).(*kmsg.FetchResponse).SessionID
		s.Say("a full fetch with the id begins another").Ask(12, session(fetch(t, from(0, 0)), id, 0))
		s.Say("the old one").Ask(12, nothing(id, 1))
	})
	return l.cases
}
