package handlers

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/wire"
)

// handleAlterReplicaLogDirs, versions 1 and 2: move replicas of this broker between its log directories (KIP-113).
// The answer says that a move has begun; DescribeLogDirs tells how far it is.
func handleAlterReplicaLogDirs(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.AlterReplicaLogDirsRequest)
	resp := kmsg.NewPtrAlterReplicaLogDirsResponse()
	topics := make(map[string]int)
	for _, m := range logDirMoves(req) {
		at, ok := topics[m.topic]
		if !ok {
			t := kmsg.NewAlterReplicaLogDirsResponseTopic()
			t.Topic = m.topic
			at = len(resp.Topics)
			topics[m.topic] = at
			resp.Topics = append(resp.Topics, t)
		}
		p := kmsg.NewAlterReplicaLogDirsResponseTopicPartition()
		p.Partition = m.partition
		if err := d.Replicas.AlterLogDir(m.topic, m.partition, m.dir); err != nil {
			p.ErrorCode = d.codeOf(err, "alter log dir", "topic", m.topic, "partition", m.partition, "dir", m.dir)
		}
		resp.Topics[at].Partitions = append(resp.Topics[at].Partitions, p)
	}
	r.Reply(resp)
}

// logDirMove is what a request asks of one partition.
type logDirMove struct {
	topicPartitionName
	dir string
}

// logDirMoves gathers a request by partition, as Kafka does: one that is named twice goes where it was named last.
func logDirMoves(req *kmsg.AlterReplicaLogDirsRequest) []logDirMove {
	var moves []logDirMove
	places := make(map[topicPartitionName]int)
	for _, dir := range req.Dirs {
		for _, t := range dir.Topics {
			for _, p := range t.Partitions {
				m := logDirMove{topicPartitionName{t.Topic, p}, dir.Dir}
				if at, twice := places[m.topicPartitionName]; twice {
					moves[at] = m
					continue
				}
				places[m.topicPartitionName] = len(moves)
				moves = append(moves, m)
			}
		}
	}
	return moves
}
