package decide

import (
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// producerIDBlock is how many producer ids a broker takes at a time.
const producerIDBlock = 1000

// allocateProducerIDs gives the next block of producer ids to a broker.
func allocateProducerIDs(env *Env, req *kmsg.AllocateProducerIDsRequest) Decision {
	resp := req.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
	if b := env.Image.Broker(req.BrokerID); b == nil || b.Epoch != req.BrokerEpoch {
		resp.ErrorCode = kerr.StaleBrokerEpoch.Code
		return Decision{Response: resp}
	}
	start := env.Image.ProducerIDs().Next
	resp.ProducerIDStart, resp.ProducerIDLen = start, producerIDBlock
	return Decision{Response: resp, Records: []metadata.Record{
		&metadata.ProducerIdsRecord{BrokerID: req.BrokerID, BrokerEpoch: req.BrokerEpoch, NextProducerID: start + producerIDBlock},
	}}
}
