package decide

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// unregisterBroker removes a broker's registration. The broker stays assigned to its partitions; it
// may be in their ELRs, but can't lead before it registers again, which then counts as after an unclean
// stop.
func unregisterBroker(env *Env, req *kmsg.UnregisterBrokerRequest) Decision {
	resp := req.ResponseKind().(*kmsg.UnregisterBrokerResponse)
	b := env.Image.Broker(req.BrokerID)
	if b == nil {
		resp.ErrorCode, resp.ErrorMessage = codeAndMessage(kerror.New(kerr.BrokerIDNotRegistered, "Broker ID %d is not currently registered", req.BrokerID))
		return Decision{Response: resp}
	}
	records := leaveISRs(newTopicRules(env, env.Image), b.ID)
	return Decision{Records: append(records, &metadata.UnregisterBrokerRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch}), Response: resp, Divisible: true}
}
