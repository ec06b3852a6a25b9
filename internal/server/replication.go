package server

import (
	"context"

	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/replica"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// replication is what the settings say on leading and following.
func replication(b *config.Broker) replica.Replication {
	r := &b.Replication
	return replica.Replication{
		Fetchers:              int(r.Fetchers),
		FetchMinBytes:         r.FetchMinBytes,
		FetchMaxBytes:         r.FetchMaxBytes,
		FetchResponseMaxBytes: r.FetchResponseMaxBytes,
		FetchWaitMax:          milliseconds(r.FetchWaitMaxMs),
		FetchBackoff:          milliseconds(r.FetchBackoffMs),
		LagTimeMax:            milliseconds(r.LagTimeMaxMs),
		RackAware:             r.SelectorClass == config.RackAwareSelector,
	}
}

// isrChanges asks the active controller, wherever it is.
type isrChanges struct{ controller *controller.Controller }

// AlterPartition implements replica.ISRChanges.
func (c isrChanges) AlterPartition(ctx context.Context, req *kmsg.AlterPartitionRequest) (*kmsg.AlterPartitionResponse, error) {
	resp, err := c.controller.Handle(ctx, req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.AlterPartitionResponse), nil
}
