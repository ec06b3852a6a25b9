package handlers

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/replica"
	"github.com/ottla/ottla/wire"
)

// handleDescribeLogDirs, versions 1 to 5: the log directories, their room, and what is in them.
//
//	4  size of the volume (KIP-827)
//	5  cordoned directories (KIP-1066)
func handleDescribeLogDirs(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.DescribeLogDirsRequest)
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	cordoned := false // Directories can't be cordoned yet.
	for _, dir := range d.Replicas.LogDirs() {
		out := kmsg.NewDescribeLogDirsResponseDir()
		out.Dir, out.TotalBytes, out.UsableBytes, out.IsCordoned = dir.Path, dir.TotalBytes, dir.UsableBytes, cordoned
		if dir.Err != nil {
			out.ErrorCode = d.codeOf(dir.Err, "describe log dirs", "dir", dir.Path)
			out.TotalBytes, out.UsableBytes = -1, -1
		} else {
			out.Topics = logDirTopics(req, dir.Replicas)
		}
		resp.Dirs = append(resp.Dirs, out)
	}
	r.Reply(resp)
}

// logDirTopics picks what was asked for out of the replicas of a directory, which are sorted by
// topic and partition. Null topics ask for everything.
func logDirTopics(req *kmsg.DescribeLogDirsRequest, replicas []replica.LogDirReplica) []kmsg.DescribeLogDirsResponseDirTopic {
	var asked map[string][]int32
	if req.Topics != nil {
		asked = make(map[string][]int32, len(req.Topics))
		for _, t := range req.Topics {
			asked[t.Topic] = append(asked[t.Topic], t.Partitions...)
		}
	}
	var topics []kmsg.DescribeLogDirsResponseDirTopic
	for _, l := range replicas {
		if req.Topics != nil && !slices.Contains(asked[l.Topic], l.Partition) {
			continue
		}
		if len(topics) == 0 || topics[len(topics)-1].Topic != l.Topic {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = l.Topic
			topics = append(topics, t)
		}
		p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		p.Partition, p.Size, p.OffsetLag, p.IsFuture = l.Partition, l.SizeBytes, l.OffsetLag, l.IsFuture
		t := &topics[len(topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return topics
}
