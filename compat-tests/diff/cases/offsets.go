package cases

import (
	"fmt"
	"time"

	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleteRecords moves log starts.
func deleteRecords(topic string, partitions ...kmsg.DeleteRecordsRequestTopicPartition) *kmsg.DeleteRecordsRequest {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 5_000
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic, t.Partitions = topic, partitions
	req.Topics = append(req.Topics, t)
	return req
}

func deleteTo(partition int32, offset int64) kmsg.DeleteRecordsRequestTopicPartition {
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = partition, offset
	return p
}

func listOffsetsCases() []diff.Case {
	l := &list{api: "list_offsets"}
	special := []int64{-1, -2, -3, -4, -5, -6, -7, -8}
	l.add("special-timestamps-P09", func(s *diff.Script) {
		t := s.Topic("t", 1)
		b := diff.NewBatch(keyed(s, 5), keyed(s, 30), keyed(s, 10))
		s.Quiet(9, produceBatch(t, b))
		fill(s, t, 2)
		for _, v := range []int16{1, 2, 4, 6, 7, 8, 9, 10, 11} {
			for _, ts := range special {
				s.Say("timestamp %d", ts).Ask(v, listOffsets(offsetsOf(t, at(0, ts))))
			}
		}
	})
	l.add("special-timestamps-of-empty-partition-P12", func(s *diff.Script) {
		t := s.Topic("t", 1)
		for _, ts := range []int64{-1, -2, -3, -4, -5, 0} {
			s.Say("timestamp %d", ts).Ask(9, listOffsets(offsetsOf(t, at(0, ts))))
		}
		fill(s, t, 3)
		s.Quiet(2, deleteRecords(t, deleteTo(0, -1)))
		for _, ts := range []int64{-1, -2, -3, -4, -5, 0} {
			s.Say("all deleted, timestamp %d", ts).Ask(9, listOffsets(offsetsOf(t, at(0, ts))))
		}
	})
	l.add("by-time", func(s *diff.Script) {
		t := s.Topic("t", 1)
		for _, n := range []int64{10, 20, 20, 15, 40} {
			s.Quiet(9, produceBatch(t, diff.NewBatch(keyed(s, n), keyed(s, n+2))))
		}
		for _, n := range []int64{0, 10, 11, 12, 13, 17, 20, 21, 22, 23, 40, 41, 42, 43} {
			s.Say("start+%d", n).Ask(7, listOffsets(offsetsOf(t, at(0, s.Time(n)))))
		}
		s.Say("time 0").Ask(7, listOffsets(offsetsOf(t, at(0, 0))))
		s.Quiet(2, deleteRecords(t, deleteTo(0, 3)))
		s.Say("start+10, deleted up to 3").Ask(7, listOffsets(offsetsOf(t, at(0, s.Time(10)))))
		s.Say("max timestamp, deleted up to 3").Ask(7, listOffsets(offsetsOf(t, at(0, -3))))
	})
	l.add("by-time-in-compressed-batch", func(s *diff.Script) {
		t := s.Topic("t", 1)
		for _, c := range []diff.Codec{diff.CodecGzip, diff.CodecSnappy, diff.CodecLZ4, diff.CodecZstd} {
			b := diff.NewBatch(keyed(s, int64(c)*10), keyed(s, int64(c)*10+5))
			b.Codec = c
			s.Quiet(9, produceBatch(t, b))
		}
		for _, n := range []int64{15, 25, 35, 45} {
			s.Say("start+%d", n).Ask(7, listOffsets(offsetsOf(t, at(0, s.Time(n)))))
		}
	})
	l.add("by-time-of-log-append-time", func(s *diff.Script) {
		t := s.Topic("t", 1, "message.timestamp.type", "LogAppendTime")
		before := time.Now().Add(-time.Minute).UnixMilli()
		fill(s, t, 2)
		s.Ask(7, listOffsets(offsetsOf(t, at(0, before))))
		s.Say("max timestamp").Ask(7, listOffsets(offsetsOf(t, at(0, -3))))
	})
	l.add("duplicate-partitions-P27", func(s *diff.Script) {
		t, u := s.Topic("t", 2), s.Topic("u", 1)
		for _, v := range []int16{1, 6, 9} {
			s.Ask(v, listOffsets(offsetsOf(t, at(0, -1), at(1, -1), at(0, -2)), offsetsOf(u, at(0, -1))))
		}
	})
	l.add("unknown", func(s *diff.Script) {
		t := s.Topic("t", 1)
		for _, v := range []int16{1, 5, 9} {
			s.Ask(v, listOffsets(offsetsOf(s.Name("none"), at(0, -1)), offsetsOf(t, at(7, -1), at(-1, -1))))
		}
		s.Say("illegal name").Ask(9, listOffsets(offsetsOf("bad name!", at(0, -1))))
		s.Say("no topics").Ask(9, listOffsets())
	})
	l.add("leader-epochs", func(s *diff.Script) {
		t := s.Topic("t", 1)
		for _, epoch := range []int32{0, 1, -1, -2} {
			p := at(0, -1)
			p.CurrentLeaderEpoch = epoch
			s.Say("epoch %d", epoch).Ask(9, listOffsets(offsetsOf(t, p)))
		}
	})
	l.add("replicas-and-isolation", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 2)
		for _, replica := range []int32{-2, -3, 1, 5} {
			req := listOffsets(offsetsOf(t, at(0, -1)))
			req.ReplicaID = replica
			s.Say("replica %d", replica).Ask(9, req)
		}
		for _, level := range []int8{1, 2} {
			req := listOffsets(offsetsOf(t, at(0, -1)))
			req.IsolationLevel = level
			p := s.On(fmt.Sprintf("level-%d", level))
			p.Ask(9, req)
			p.Fate("after it")
		}
	})
	versions(l, 1, 11, func(s *diff.Script, v int16) {
		t := s.Topic("t", 2)
		fill(s, t, 3)
		s.Ask(v, listOffsets(offsetsOf(t, at(0, -1), at(1, -1))))
		s.Say("earliest").Ask(v, listOffsets(offsetsOf(t, at(0, -2))))
		s.Say("by time").Ask(v, listOffsets(offsetsOf(t, at(0, s.Time(1)))))
	})
	return l.cases
}

func deleteRecordsCases() []diff.Case {
	l := &list{api: "delete_records"}
	l.add("errors", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 5)
		s.Say("beyond the end").Ask(2, deleteRecords(t, deleteTo(0, 6)))
		s.Say("negative").Ask(2, deleteRecords(t, deleteTo(0, -2)))
		s.Say("no such partition").Ask(2, deleteRecords(t, deleteTo(3, 1), deleteTo(-1, 1)))
		s.Say("no such topic").Ask(2, deleteRecords(s.Name("none"), deleteTo(0, 1)))
		s.Say("nothing").Ask(2, kmsg.NewPtrDeleteRecordsRequest())
	})
	l.add("compacted-topic", func(s *diff.Script) {
		t := s.Topic("t", 1, "cleanup.policy", "compact")
		fill(s, t, 2)
		s.Ask(2, deleteRecords(t, deleteTo(0, 1)))
	})
	l.add("internal-topic", func(s *diff.Script) {
		s.Group("g")
		s.Ask(2, deleteRecords("__consumer_offsets", deleteTo(0, 0)))
	})
	l.add("moves-only-forward", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 5)
		s.Ask(2, deleteRecords(t, deleteTo(0, 3)))
		s.Say("back").Ask(2, deleteRecords(t, deleteTo(0, 1)))
		s.Say("to the end").Ask(2, deleteRecords(t, deleteTo(0, -1)))
		s.Say("earliest").Ask(7, listOffsets(offsetsOf(t, at(0, -2))))
		fill(s, t, 1)
		s.Ask(12, fetch(t, from(0, 5)))
	})
	l.add("partition-twice", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 5)
		s.Ask(2, deleteRecords(t, deleteTo(0, 1), deleteTo(0, 2)))
	})
	versions(l, 0, 2, func(s *diff.Script, v int16) {
		t := s.Topic("t", 2)
		fill(s, t, 5)
		s.Ask(v, deleteRecords(t, deleteTo(0, 2), deleteTo(1, 0), deleteTo(9, 0)))
	})
	return l.cases
}

func offsetForLeaderEpoch() []diff.Case {
	l := &list{api: "offset_for_leader_epoch"}
	epoch := func(partition, current, asked int32) kmsg.OffsetForLeaderEpochRequestTopicPartition {
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = partition, current, asked
		return p
	}
	request := func(topic string, partitions ...kmsg.OffsetForLeaderEpochRequestTopicPartition) *kmsg.OffsetForLeaderEpochRequest {
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.ReplicaID = -1
		t := kmsg.NewOffsetForLeaderEpochRequestTopic()
		t.Topic, t.Partitions = topic, partitions
		req.Topics = append(req.Topics, t)
		return req
	}
	l.add("epochs-C05", func(s *diff.Script) {
		t := s.Topic("t", 1)
		for _, e := range []int32{0, 1, -1, -2} {
			s.Say("empty log, epoch %d", e).Ask(4, request(t, epoch(0, -1, e)))
		}
		fill(s, t, 3)
		for _, e := range []int32{0, 1, -1, -2} {
			s.Say("3 records, epoch %d", e).Ask(4, request(t, epoch(0, -1, e)))
		}
		s.Quiet(2, deleteRecords(t, deleteTo(0, -1)))
		s.Say("all deleted").Ask(4, request(t, epoch(0, -1, 0)))
	})
	l.add("current-leader-epochs", func(s *diff.Script) {
		t := s.Topic("t", 1)
		fill(s, t, 3)
		for _, e := range []int32{0, 1, -2} {
			s.Say("current epoch %d", e).Ask(4, request(t, epoch(0, e, 0)))
		}
	})
	l.add("unknown", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Ask(4, request(s.Name("none"), epoch(0, -1, 0)))
		s.Ask(4, request(t, epoch(4, -1, 0), epoch(-1, -1, 0), epoch(0, -1, 0)))
		s.Say("no topics").Ask(4, kmsg.NewPtrOffsetForLeaderEpochRequest())
	})
	versions(l, 2, 4, func(s *diff.Script, v int16) {
		t := s.Topic("t", 2)
		fill(s, t, 3)
		s.Ask(v, request(t, epoch(0, 0, 0), epoch(1, -1, 0), epoch(2, -1, 0)))
	})
	return l.cases
}
