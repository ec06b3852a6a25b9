package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/handlers"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fakeActive answers with what the test says and notes who asked.
type fakeActive struct {
	mu      sync.Mutex
	err     error
	clients []*controller.Client
	// hold, if set, is waited for by requests to the voters.
	hold chan struct{}
	// gone takes the brokers whose connections ended.
	gone chan int32
}

// client is who made the i-th request.
func (a *fakeActive) client(i int) *controller.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.clients[i]
}

// fail makes the requests to come fail.
func (a *fakeActive) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

func (a *fakeActive) BrokerDisconnected(broker int32, _ int64) { a.gone <- broker }

func (a *fakeActive) Leader() (int32, string) { return 1, "" }

func (a *fakeActive) HandleHere(ctx context.Context, req kmsg.Request) (controller.Forwarded, error) {
	if _, ok := req.(*kmsg.AddRaftVoterRequest); ok && a.hold != nil {
		<-a.hold
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients = append(a.clients, controller.ClientOf(ctx))
	if a.err != nil {
		return controller.Forwarded{}, a.err
	}
	return controller.Forwarded{Response: req.ResponseKind(), Offset: 42}, nil
}

func startControllerListener(t *testing.T, a handlers.ActiveController) string {
	t.Helper()
	b, _, err := config.Load(config.ZeroConfig())
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.DiscardHandler)
	h := handlers.NewController(handlers.Deps{Logger: logger, Clock: clock.System{}, NodeID: 1, Image: image.Empty, Configs: config.NewStore(b), Random: func() uint64 { return 1 }}, a)
	s, err := wire.NewServer(wire.Config{
		Listeners: []wire.Listener{{Name: "CONTROLLER", SecurityProtocol: "PLAINTEXT", Address: "127.0.0.1:0", Role: wire.RoleController,
			Divert: func(first []byte, _ net.Conn) bool { return controller.IsStream(first) }}},
		Handler: h, Supports: h.Supports, Logger: logger, Clock: clock.System{},
	})
	if err != nil {
		t.Fatal(err)
	}
	bound, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return bound[0].Addr.String()
}

// TestForwarder sends clients' and nodes' requests over a socket: the first come with who the client is and go back with an
// offset, errors tell whether the request was taken, and no kind of request waits for another.
func TestForwarder(t *testing.T) {
	active := &fakeActive{hold: make(chan struct{}), gone: make(chan int32, 1)}
	address := startControllerListener(t, active)
	f := newForwarder(clock.System{}, 7, 5*time.Second, nil, new(atomic.Pointer[tls.Config]))
	t.Cleanup(func() {
		if err := f.close(); err != nil {
			t.Error(err)
		}
		if broker := <-active.gone; broker != 7 {
			t.Errorf("the connection of broker %d ended", broker)
		}
		if _, err := f.Forward(context.Background(), address, nil, kmsg.NewPtrBrokerHeartbeatRequest()); !errors.Is(err, kerr.NotController) {
			t.Errorf("after close: %v", err)
		}
	})
	slow := make(chan error, 1)
	go func() {
		r := kmsg.NewPtrAddRaftVoterRequest()
		_, err := f.Forward(context.Background(), address, nil, r)
		slow <- err
	}()
	client := &controller.Client{Principal: wire.AppendPrincipal(nil, wire.Principal{Type: "User", Name: "alice"}), Address: netip.MustParseAddr("10.1.2.3")}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version = 7
	got, err := f.Forward(context.Background(), address, client, create)
	if _, ok := got.Response.(*kmsg.CreateTopicsResponse); !ok || err != nil || got.Offset != 42 {
		t.Fatalf("%+v, %v", got, err)
	}
	if c := active.client(0); c.Address != client.Address || string(c.Principal) != string(client.Principal) {
		t.Errorf("the client arrived as %+v", c)
	}
	beat := kmsg.NewPtrBrokerHeartbeatRequest()
	beat.BrokerID = 7
	if got, err := f.Forward(context.Background(), address, nil, beat); err != nil || got.Offset != -1 || active.client(1) != nil {
		t.Errorf("%+v, %v", got, err)
	}
	close(active.hold)
	if err := <-slow; err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		err   error
		taken bool
	}{
		{kerror.Wrap(kerr.NotController, controller.ErrNotTaken), false},
		{kerror.Wrap(kerr.NotController, errors.New("lost")), true},
	} {
		active.fail(c.err)
		if _, err := f.Forward(context.Background(), address, client, create); !errors.Is(err, kerr.NotController) || errors.Is(err, controller.ErrNotTaken) == c.taken {
			t.Errorf("%v became %v", c.err, err)
		}
		if _, err := f.Forward(context.Background(), address, nil, beat); !errors.Is(err, kerr.NotController) {
			t.Errorf("%v became %v", c.err, err)
		}
	}
	if _, err := f.Forward(context.Background(), "127.0.0.1:1", client, create); !errors.Is(err, controller.ErrNotTaken) {
		t.Errorf("nobody there: %v", err)
	}
}
