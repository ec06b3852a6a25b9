package handlers

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestOpenEnvelope holds the codes of malformed envelopes to those that Kafka 4.4.0 answered.
func TestOpenEnvelope(t *testing.T) {
	client := &controller.Client{Principal: wire.AppendPrincipal(nil, wire.Principal{Type: "User", Name: "ANONYMOUS"}), Address: netip.MustParseAddr("127.0.0.1")}
	create := func(version int16) kmsg.Request { return &kmsg.CreateTopicsRequest{Version: version} }
	cases := []struct {
		name string
		edit func(*kmsg.EnvelopeRequest)
		want *kerr.Error
	}{
		{"good", func(*kmsg.EnvelopeRequest) {}, nil},
		{"no principal", func(e *kmsg.EnvelopeRequest) { e.RequestPrincipal = nil }, kerr.PrincipalDeserializationFailure},
		{"short principal", func(e *kmsg.EnvelopeRequest) { e.RequestPrincipal = []byte{1} }, kerr.PrincipalDeserializationFailure},
		{"address", func(e *kmsg.EnvelopeRequest) { e.ClientHostAddress = []byte{127, 0} }, kerr.InvalidRequest},
		{"version", func(e *kmsg.EnvelopeRequest) { e.RequestData = wire.AppendEnveloped(nil, wire.Header{}, create(1)) }, kerr.UnsupportedVersion},
		{"a broker's own API", func(e *kmsg.EnvelopeRequest) {
			e.RequestData = wire.AppendEnveloped(nil, wire.Header{}, &kmsg.ProduceRequest{Version: 9})
		}, kerr.InvalidRequest},
		{"a node's own request", func(e *kmsg.EnvelopeRequest) {
			e.RequestData = wire.AppendEnveloped(nil, wire.Header{}, kmsg.NewPtrBrokerHeartbeatRequest())
		}, kerr.InvalidRequest},
		{"ApiVersions", func(e *kmsg.EnvelopeRequest) {
			e.RequestData = wire.AppendEnveloped(nil, wire.Header{}, kmsg.NewPtrApiVersionsRequest())
		}, kerr.InvalidRequest},
		{"cut short", func(e *kmsg.EnvelopeRequest) { e.RequestData = e.RequestData[:5] }, kerr.InvalidRequest},
	}
	for _, c := range cases {
		e := SealEnvelope(client, create(7))
		c.edit(e)
		_, req, got, err := openEnvelope(e)
		if c.want == nil {
			if err != nil || req.Key() != 19 || got.Address != client.Address {
				t.Errorf("%s: %+v, %v", c.name, got, err)
			}
			continue
		}
		if kerror.CodeOf(err) != c.want.Code {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// TestControllerTable holds the listener's table against the protocol's: every API on it is a controller's, in the
// versions of Kafka 4.4.0, and every response to a node's own request can carry that the controller isn't active.
func TestControllerTable(t *testing.T) {
	notActive := kerror.Wrap(kerr.NotController, controller.ErrNotTaken)
	for _, a := range controllerAPIs(nil) {
		key := a.key.Int16()
		known, ok := wire.LookupAPI(key)
		if !ok || !wire.ServedBy(wire.RoleController, key, a.max) || a.min != known.Min || a.max != known.Max {
			t.Errorf("%s: served in %d to %d, known %+v", a.key.Name(), a.min, a.max, known)
		}
		req := a.key.Request()
		if !OwnRequest(req) {
			continue
		}
		resp := req.ResponseKind()
		setFailure(resp, notActive)
		if err := FailureOf(resp); !errors.Is(err, kerr.NotController) {
			t.Errorf("%s: the failure came back as %v", a.key.Name(), err)
		}
		if err := FailureOf(req.ResponseKind()); err != nil {
			t.Errorf("%s: success came back as %v", a.key.Name(), err)
		}
	}
}
