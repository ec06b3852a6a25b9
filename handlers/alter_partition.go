package handlers

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleAlterPartition answers AlterPartition, versions 2 and 3: a leader changes the in-sync replicas of partitions
// (KIP-497); the members' broker epochs since 3 (KIP-903).
// The active controller decides.
func handleAlterPartition(d *Deps, r *wire.Request) {
	d.forward(r, -1, func(err error) kmsg.Response {
		resp := kmsg.NewPtrAlterPartitionResponse()
		resp.ErrorCode = kerror.CodeOf(err)
		return resp
	})
}
