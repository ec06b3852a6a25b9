package server

import (
	"errors"
	"sync"

	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var errStopped = errors.New("the broker stopped before it was ready")

// gate holds requests back until the node is ready, so that a client that comes early waits instead
// of failing. ApiVersions is answered at once in the versions without features: probes use it to tell a slow
// broker from a dead one. The others wait, since clients keep the cluster's features that they are told.
type gate struct {
	// early answers before the node is ready; ApiVersions below featuresFrom only.
	early wire.Handler

	open   chan struct{}
	closed chan struct{}
	once   sync.Once
	// ready is set before open is closed.
	ready wire.Handler
}

// featuresFrom is the version of ApiVersions from which on it tells of the cluster's features (KIP-584).
const featuresFrom = 3

func newGate(early wire.Handler) *gate {
	return &gate{early: early, open: make(chan struct{}), closed: make(chan struct{})}
}

// ServeRequest implements wire.Handler.
func (g *gate) ServeRequest(r *wire.Request) {
	select {
	case <-g.open:
		g.ready.ServeRequest(r)
		return
	default:
	}
	if r.Key == kmsg.ApiVersions.Int16() && r.Version < featuresFrom {
		g.early.ServeRequest(r)
		return
	}
	select {
	case <-g.open:
		g.ready.ServeRequest(r)
	case <-g.closed:
		r.Close(errStopped)
	}
}

// isOpen says that requests don't wait.
func (g *gate) isOpen() bool {
	select {
	case <-g.open:
		return true
	default:
		return false
	}
}

// opens lets everything through to h. Called once.
func (g *gate) opens(h wire.Handler) {
	g.ready = h
	close(g.open)
}

// close turns away what still waits; it is safe on a nil gate and may be called twice.
func (g *gate) close() {
	if g != nil {
		g.once.Do(func() { close(g.closed) })
	}
}
