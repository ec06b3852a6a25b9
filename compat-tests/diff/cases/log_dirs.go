package cases

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/compat-tests/diff"
)

// alterLogDirs asks for partitions of a topic to be moved to a log directory.
func alterLogDirs(dir, topic string, partitions ...int32) *kmsg.AlterReplicaLogDirsRequest {
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	addLogDir(req, dir, topic, partitions...)
	return req
}

func addLogDir(req *kmsg.AlterReplicaLogDirsRequest, dir, topic string, partitions ...int32) {
	d := kmsg.NewAlterReplicaLogDirsRequestDir()
	d.Dir = dir
	t := kmsg.NewAlterReplicaLogDirsRequestDirTopic()
	t.Topic, t.Partitions = topic, partitions
	d.Topics = append(d.Topics, t)
	req.Dirs = append(req.Dirs, d)
}

// logDirOf is the broker's only log directory.
func logDirOf(s *diff.Script) string {
	return s.Quiet(4, kmsg.NewPtrDescribeLogDirsRequest()).(*kmsg.DescribeLogDirsResponse).Dirs[0].Dir
}

func alterReplicaLogDirs() []diff.Case {
	l := &list{api: "alter_replica_log_dirs"}
	l.add("errors", func(s *diff.Script) {
		t, dir := s.Topic("t", 2), logDirOf(s)
		s.Say("directory that isn't one of the broker's").Ask(2, alterLogDirs("/nowhere", t, 0))
		s.Say("the same for an unknown topic").Ask(2, alterLogDirs("/nowhere", s.Name("none"), 0))
		s.Say("with a slash behind it").Ask(2, alterLogDirs(dir+"/", t, 0))
		s.Say("relative").Ask(2, alterLogDirs("data", t, 0))
		s.Say("empty").Ask(2, alterLogDirs("", t, 0))
		s.Say("topic").Ask(2, alterLogDirs(dir, s.Name("none"), 0))
		s.Say("topic that can't be").Ask(2, alterLogDirs(dir, "a b", 0))
		s.Say("topic without a name").Ask(2, alterLogDirs(dir, "", 0))
		s.Say("partition").Ask(2, alterLogDirs(dir, t, 7))
		s.Say("negative partition").Ask(2, alterLogDirs(dir, t, -1))
		s.Say("the controller's topic").Ask(2, alterLogDirs(dir, "__cluster_metadata", 0))
	})
	l.add("where-it-is", func(s *diff.Script) {
		t, dir := s.Topic("t", 2), logDirOf(s)
		s.Say("one").Ask(2, alterLogDirs(dir, t, 0))
		s.Say("all").Ask(2, alterLogDirs(dir, t, 0, 1))
	})
	l.add("twice", func(s *diff.Script) {
		t, dir := s.Topic("t", 2), logDirOf(s)
		req := alterLogDirs(dir, t, 0)
		addLogDir(req, "/nowhere", t, 0)
		s.Say("the last one counts").Ask(2, req)
		req = alterLogDirs("/nowhere", t, 0, 0)
		addLogDir(req, dir, t, 0)
		s.Say("the other way round").Ask(2, req)
	})
	l.add("nothing", func(s *diff.Script) {
		t, dir := s.Topic("t", 1), logDirOf(s)
		s.Say("no directories").Ask(2, kmsg.NewPtrAlterReplicaLogDirsRequest())
		s.Say("no partitions").Ask(2, alterLogDirs(dir, t))
	})
	versions(l, 1, 2, func(s *diff.Script, v int16) {
		t, dir := s.Topic("t", 1), logDirOf(s)
		s.Ask(v, alterLogDirs(dir, t, 0))
		s.Ask(v, alterLogDirs("/nowhere", t, 0))
	})
	return l.cases
}

// reassignment asks for a partition's replicas.
func reassignment(topic string, partition int32, replicas ...int32) *kmsg.AlterPartitionAssignmentsRequest {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.TimeoutMillis, req.AllowReplicationFactorChange = 10_000, true
	t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	p.Partition, p.Replicas = partition, replicas
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func alterPartitionReassignments() []diff.Case {
	l := &list{api: "alter_partition_assignments"}
	l.add("errors", func(s *diff.Script) {
		t := s.Topic("t", 2)
		s.Say("broker that isn't there").Ask(1, reassignment(t, 0, 2))
		s.Say("one that is there and one that isn't").Ask(1, reassignment(t, 0, 1, 2))
		s.Say("a broker twice").Ask(1, reassignment(t, 0, 1, 1))
		s.Say("to give up what isn't under way").Ask(1, reassignment(t, 0))
		empty := reassignment(t, 0)
		empty.Topics[0].Partitions[0].Replicas = []int32{}
		s.Say("an empty list of replicas").Ask(1, empty)
		s.Say("topic").Ask(1, reassignment(s.Name("none"), 0, 1))
		s.Say("partition").Ask(1, reassignment(t, 7, 1))
		s.Say("negative partition").Ask(1, reassignment(t, -1, 1))
		fixed := reassignment(t, 0, 1, 2)
		fixed.AllowReplicationFactorChange = false
		s.Say("another replication factor, not allowed").Ask(1, fixed)
		late := reassignment(t, 0, 1)
		late.TimeoutMillis = 0
		s.Say("no time").Ask(1, late)
	})
	l.add("where-it-is", func(s *diff.Script) {
		t := s.Topic("t", 2)
		req := reassignment(t, 0, 1)
		req.Topics = append(req.Topics, reassignment(t, 1, 1).Topics...)
		s.Say("both").Ask(1, req)
		req.Topics[1].Partitions[0].Partition = 0
		s.Say("one twice").Ask(1, req)
		empty := reassignment(t, 0, 1)
		empty.Topics = empty.Topics[:0]
		s.Say("nothing").Ask(1, empty)
	})
	versions(l, 0, 1, func(s *diff.Script, v int16) {
		t := s.Topic("t", 1)
		s.Ask(v, reassignment(t, 0, 1))
		s.Ask(v, reassignment(t, 0, 9))
	})
	return l.cases
}
