package handlers

import (
	"context"
	"log/slog"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Deps is all that handlers see of the rest of the broker; internal/server fills it. The
// interfaces are declared beside the handlers that need them (deps_*.go).
type Deps struct {
	Logger *slog.Logger
	Clock  clock.Clock
	// NodeID is this broker's node.id.
	NodeID int32
	// Image is the newest committed cluster metadata; the value is immutable.
	Image      func() *image.Image
	Controller Controller
	Replicas   Replicas
	Groups     Groups
	Configs    Configs
	// LogLevel is the level of Logger; nil if it is fixed.
	LogLevel *slog.LevelVar
	// Random yields random bits, for fetch session ids.
	Random func() uint64

	// The state below belongs to single APIs and is made by New.

	fetchSessions *fetchSessions
	producerIDs   *producerIDs
	apiVersions   *apiVersionsTable
	produces      *producePool
	fetches       *fetchPool
}

// Controller executes requests that change or ask for the cluster's metadata on the active
// controller, wherever it is.
type Controller interface {
	// Handle runs an administrative request (CreateTopics, IncrementalAlterConfigs, …) and returns
	// its typed response once the change is committed and visible in this node's Image.
	Handle(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
}
