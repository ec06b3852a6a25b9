package handlers

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleAlterPartitionReassignments answers AlterPartitionReassignments, versions 0 and 1 (KIP-455): replicas
// move to other brokers, or don't after all; since 1 a change of the replication factor can be refused
// (KIP-860). The controller decides.
func handleAlterPartitionReassignments(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.AlterPartitionAssignmentsRequest)
	d.forward(r, req.TimeoutMillis, func(err error) kmsg.Response {
		resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
		resp.ErrorCode, resp.ErrorMessage = kerror.CodeOf(err), kerror.MessageOf(err)
		for _, t := range req.Topics {
			out := kmsg.NewAlterPartitionAssignmentsResponseTopic()
			out.Topic = t.Topic
			for _, p := range t.Partitions {
				o := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
				o.Partition, o.ErrorCode, o.ErrorMessage = p.Partition, kerror.CodeOf(err), kerror.MessageOf(err)
				out.Partitions = append(out.Partitions, o)
			}
			resp.Topics = append(resp.Topics, out)
		}
		return resp
	})
}
