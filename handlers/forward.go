package handlers

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxForward bounds how long a request waits for the controller, whatever the client allows.
const maxForward = 5 * time.Minute

// forward runs a request on the controller and replies with its response. timeoutMs is the client's
// limit, negative for request.timeout.ms. Where the controller gives no answer, failed shapes the error.
func (d *Deps) forward(r *wire.Request, timeoutMs int32, failed func(err error) kmsg.Response) {
	resp, err := d.askController(r, r.Body, timeoutMs)
	if err != nil {
		d.codeOf(err, "asking the controller", "request", kmsg.NameForKey(r.Key))
		resp = failed(err)
	}
	r.Reply(resp)
}

// clientOf is who a request is made for, as the active controller is told.
func clientOf(s *wire.Session) *controller.Client {
	kind, name, _ := strings.Cut(s.Principal, ":")
	return &controller.Client{
		Principal: wire.AppendPrincipal(nil, wire.Principal{Type: kind, Name: name}), Address: s.ClientAddr.Addr().Unmap(),
	}
}

// askController runs req on the controller; it ends early when the client's connection does. A client
// that allows no time gets REQUEST_TIMED_OUT and no change, as from Kafka.
func (d *Deps) askController(r *wire.Request, req kmsg.Request, timeoutMs int32) (kmsg.Response, error) {
	if timeoutMs == 0 {
		return nil, kerr.RequestTimedOut
	}
	timeout := time.Duration(timeoutMs) * time.Millisecond
	if timeoutMs < 0 {
		timeout = time.Duration(d.Configs.Broker().Network.MaxRequestTimeoutMs) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(timeout, maxForward))
	defer cancel()
	r.OnClose(cancel)
	resp, err := d.Controller.Handle(controller.WithClient(ctx, clientOf(r.Session)), req)
	if errors.Is(err, context.DeadlineExceeded) {
		err = kerror.Wrap(kerr.RequestTimedOut, err)
	}
	return resp, err
}
