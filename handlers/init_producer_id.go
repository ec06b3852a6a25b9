package handlers

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/wire"
)

// handleInitProducerID, versions 0 to 5: producer ids for idempotent producers (KIP-98).
// Transactions aren't served: a transactional id is refused for good, so that the application
// stops at once instead of trying for ever.
//
//	3  producer id and epoch of a producer that goes on (KIP-360)
func handleInitProducerID(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.InitProducerIDRequest)
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	known := r.Version >= 3
	switch {
	case req.TransactionalID != nil && *req.TransactionalID == "",
		known && (req.ProducerID == -1) != (req.ProducerEpoch == -1):
		resp.ErrorCode = kerr.InvalidRequest.Code
	case req.TransactionalID != nil:
		d.Logger.Warn("refused a transactional producer: transactions are not served", "transactional_id", *req.TransactionalID,
			"client", r.Session.ClientAddr, "software", r.Session.ClientSoftware().Name)
		resp.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
	default:
		// An idempotent producer that goes on gets a new id as well: only transactions keep theirs.
		id, err := d.producerIDs.next()
		if err != nil {
			resp.ErrorCode = d.codeOf(err, "allocate producer id")
		} else {
			resp.ProducerID, resp.ProducerEpoch = id, 0
		}
	}
	r.Reply(resp)
}

// producerIDTimeout bounds the wait for a block of producer ids, as Kafka's RPCProducerIdManager.
const producerIDTimeout = 5 * time.Second

// producerIDs hands out producer ids from the block that the controller gave to this broker.
type producerIDs struct {
	controller  Controller
	nodeID      int32
	brokerEpoch func() int64

	// turn has room for one: who has put a token there hands out ids. It is held across the request for a block:
	// whoever needs an id meanwhile needs that block, but waits no longer than its own time.
	turn     chan struct{}
	id, last int64 // the next id and the last of the block; guarded by turn
}

func newProducerIDs(d *Deps) *producerIDs {
	return &producerIDs{controller: d.Controller, nodeID: d.NodeID, turn: make(chan struct{}, 1), last: -1, brokerEpoch: func() int64 {
		if b := d.Image().Broker(d.NodeID); b != nil {
			return b.Epoch
		}
		return -1
	}}
}

// next is a producer id that no one else has.
func (p *producerIDs) next() (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), producerIDTimeout)
	defer cancel()
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return -1, kerr.RequestTimedOut
	}
	defer func() { <-p.turn }()
	if p.id > p.last {
		if err := p.refill(ctx); err != nil {
			return -1, err
		}
	}
	id := p.id
	p.id++
	return id, nil
}

// refill asks the controller for a block. Requires: it is the caller's turn.
func (p *producerIDs) refill(ctx context.Context) error {
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID, req.BrokerEpoch = p.nodeID, p.brokerEpoch()
	resp, err := p.controller.Handle(ctx, req)
	if errors.Is(err, context.DeadlineExceeded) {
		return kerr.RequestTimedOut
	}
	if err != nil {
		return err
	}
	block, ok := resp.(*kmsg.AllocateProducerIDsResponse)
	if !ok {
		return errors.New("controller answered AllocateProducerIds with another response")
	}
	if block.ErrorCode != 0 {
		// The client tries again, as it does while a coordinator loads.
		return kerr.CoordinatorLoadInProgress
	}
	if block.ProducerIDLen < 1 {
		return errors.New("controller gave an empty block of producer ids")
	}
	p.id, p.last = block.ProducerIDStart, block.ProducerIDStart+int64(block.ProducerIDLen)-1
	return nil
}
