// Package controller keeps the cluster's metadata: it decides on administrative requests, has
// their records replicated by raft and publishes the image that results.
package controller

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Config is what a Controller is made of.
type Config struct {
	// NodeID is this node's node.id.
	NodeID int32
	Logger *slog.Logger
	Clock  clock.Clock
	// Rand places replicas and makes ids; used by one goroutine only.
	Rand *rand.Rand
}

// Subscriber is told of every committed change, in order, on one goroutine. It must not call back
// into the controller and wait.
type Subscriber func(old, new *image.Image, delta *image.Delta)

// Controller is this node's part of the metadata quorum.
type Controller struct {
	image atomic.Pointer[image.Image]
}

// New returns a controller that isn't started yet.
func New(cfg Config) (*Controller, error) {
	c := &Controller{}
	c.image.Store(image.Empty())
	return c, nil
}

// Start opens the stores, starts raft and returns once the image is loaded and, on a single voter,
// this node is the active controller.
func (c *Controller) Start(ctx context.Context) error { return nil }

// Close stops raft and waits for all goroutines.
func (c *Controller) Close() error { return nil }

// Image is the newest committed image; never nil.
func (c *Controller) Image() *image.Image { return c.image.Load() }

// Subscribe adds a subscriber; it is called at once with (empty, current, full delta). Requires:
// called before Start.
func (c *Controller) Subscribe(s Subscriber) {}

// Handle runs a request on the active controller and returns its response once the change is
// committed and visible in this node's Image.
func (c *Controller) Handle(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return nil, nil
}
