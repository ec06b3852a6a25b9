package handlers

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Tags of an Envelope's response between nodes of this program; others pass over them.
const (
	// envelopeOffset holds the metadata offset (int64) that the broker must have before it answers its client.
	envelopeOffset = 0x4f54_00
	// envelopeUncertain goes with NOT_CONTROLLER: the request may have had an effect.
	envelopeUncertain = 0x4f54_01
)

// forwardable are the requests that an Envelope may hold: those of clients to a broker that only the active controller
// can do.
func forwardable(req kmsg.Request) bool {
	switch kmsg.Key(req.Key()) {
	case kmsg.CreateTopics, kmsg.DeleteTopics, kmsg.CreateACLs, kmsg.DeleteACLs, kmsg.AlterConfigs, kmsg.CreatePartitions,
		kmsg.CreateDelegationToken, kmsg.RenewDelegationToken, kmsg.ExpireDelegationToken, kmsg.ElectLeaders, kmsg.IncrementalAlterConfigs,
		kmsg.AlterPartitionAssignments, kmsg.ListPartitionReassignments, kmsg.AlterClientQuotas, kmsg.AlterUserSCRAMCredentials,
		kmsg.DescribeQuorum, kmsg.UpdateFeatures, kmsg.UnregisterBroker, kmsg.AddRaftVoter, kmsg.RemoveRaftVoter:
		return true
	}
	return kmsg.Key(req.Key()).Int16() == unregisterController
}

const unregisterController = 94

// handleEnvelope answers Envelope, version 0 (KIP-590): a client's request that a broker sends on.
func (d *Deps) handleEnvelope(a ActiveController, r *wire.Request) {
	req := r.Body.(*kmsg.EnvelopeRequest)
	h, inner, client, err := openEnvelope(req)
	if err != nil {
		r.Reply(sealFailure(err))
		return
	}
	r.Proceed()
	go func() {
		defer d.guard(r)
		ctx, cancel := context.WithTimeout(context.Background(), maxForward)
		defer cancel()
		r.OnClose(cancel)
		f, err := a.HandleHere(controller.WithClient(ctx, client), inner)
		if err != nil {
			r.Reply(sealFailure(err))
			return
		}
		resp := kmsg.NewPtrEnvelopeResponse()
		resp.ResponseData = wire.AppendEnvelopedResponse(nil, h, f.Response)
		resp.UnknownTags.Set(envelopeOffset, binary.BigEndian.AppendUint64(nil, uint64(f.Offset)))
		r.Reply(resp)
	}()
}

// openEnvelope checks what an Envelope holds, with Kafka's codes.
func openEnvelope(req *kmsg.EnvelopeRequest) (wire.Header, kmsg.Request, *controller.Client, error) {
	if _, err := wire.ReadPrincipal(req.RequestPrincipal); err != nil {
		return wire.Header{}, nil, nil, kerror.Wrap(kerr.PrincipalDeserializationFailure, err)
	}
	address, ok := netip.AddrFromSlice(req.ClientHostAddress)
	if !ok {
		return wire.Header{}, nil, nil, kerror.New(kerr.InvalidRequest, "malformed client address")
	}
	// Copied: a request may be decided on after its broker has gone, and its frame with it.
	h, inner, err := wire.ReadEnveloped(bytes.Clone(req.RequestData))
	switch {
	case errors.Is(err, wire.ErrEnvelopedVersion):
		if known, ok := wire.LookupAPI(h.Key); ok && wire.ServedBy(wire.RoleController, h.Key, known.Max) {
			return h, nil, nil, kerror.Wrap(kerr.UnsupportedVersion, err)
		}
		return h, nil, nil, kerror.Wrap(kerr.InvalidRequest, err)
	case err != nil:
		return h, nil, nil, kerror.Wrap(kerr.InvalidRequest, err)
	case !forwardable(inner):
		return h, nil, nil, kerror.New(kerr.InvalidRequest, "%s isn't forwarded", wire.APIName(h.Key))
	}
	return h, inner, &controller.Client{Principal: bytes.Clone(req.RequestPrincipal), Address: address}, nil
}

// sealFailure is the response of an Envelope whose request got none.
func sealFailure(err error) *kmsg.EnvelopeResponse {
	resp := kmsg.NewPtrEnvelopeResponse()
	resp.ErrorCode = kerror.CodeOf(err)
	if !errors.Is(err, controller.ErrNotTaken) {
		resp.UnknownTags.Set(envelopeUncertain, nil)
	}
	return resp
}

// SealEnvelope puts a client's request into an Envelope.
func SealEnvelope(client *controller.Client, req kmsg.Request) *kmsg.EnvelopeRequest {
	if client == nil {
		client = &controller.Client{Principal: wire.AppendPrincipal(nil, wire.Principal{Type: "User", Name: "ANONYMOUS"})}
	}
	address := client.Address
	if !address.IsValid() {
		address = netip.IPv6Loopback()
	}
	e := kmsg.NewPtrEnvelopeRequest()
	e.RequestData = wire.AppendEnveloped(nil, wire.Header{}, req)
	e.RequestPrincipal, e.ClientHostAddress = client.Principal, address.AsSlice()
	return e
}

// OpenEnvelopeResponse takes the response to req out of its Envelope. The error wraps controller.ErrNotTaken where the
// request had no effect for certain.
func OpenEnvelopeResponse(e *kmsg.EnvelopeResponse, req kmsg.Request) (controller.Forwarded, error) {
	f := controller.Forwarded{Offset: -1}
	uncertain := false
	e.UnknownTags.Each(func(key uint32, value []byte) {
		switch {
		case key == envelopeOffset && len(value) == 8:
			f.Offset = int64(binary.BigEndian.Uint64(value))
		case key == envelopeUncertain:
			uncertain = true
		}
	})
	if code := kerr.TypedErrorForCode(e.ErrorCode); code != nil {
		cause := errRemoteNotActive
		if !uncertain {
			cause = controller.ErrNotTaken
		}
		return f, kerror.Wrap(code, cause)
	}
	var err error
	f.Response, err = wire.ReadEnvelopedResponse(e.ResponseData, req)
	return f, err
}
