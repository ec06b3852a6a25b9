package handlers

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
)

// handleAlterPartitionReassignments answers AlterPartitionReassignments, versions 0 and 1: changes of the replication
// factor can be ruled out since 1 (KIP-455, KIP-860). The controller decides.
func handleAlterPartitionReassignments(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.AlterPartitionAssignmentsRequest)
	d.forward(r, req.TimeoutMillis, func(err error) kmsg.Response {
		resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
		resp.AllowReplicationFactorChange = req.AllowReplicationFactorChange
		resp.ErrorCode, resp.ErrorMessage = kerror.CodeOf(err), kerror.MessageOf(err)
		for _, t := range req.Topics {
			out := kmsg.NewAlterPartitionAssignmentsResponseTopic()
			out.Topic = t.Topic
			for _, p := range t.Partitions {
				o := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
				o.Partition, o.ErrorCode, o.ErrorMessage = p.Partition, resp.ErrorCode, resp.ErrorMessage
				out.Partitions = append(out.Partitions, o)
			}
			resp.Topics = append(resp.Topics, out)
		}
		return resp
	})
}
