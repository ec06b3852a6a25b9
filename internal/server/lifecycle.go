package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/config"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// lifecycle is this broker's registration with the controller: it keeps it alive by heartbeats and
// gives leadership up at the end.
type lifecycle struct {
	server   *Server
	nodeID   int32
	epoch    int64
	interval time.Duration

	mu      sync.Mutex
	again   bool          // a heartbeat is due as soon as the running one ends; guarded by mu
	timer   clock.Timer   // guarded by mu
	stopped bool          // guarded by mu
	beating chan struct{} // non-nil while a heartbeat runs; guarded by mu
}

// registrationTimeout bounds the registration with a controller that is there.
const registrationTimeout = 30 * time.Second

// register makes this broker known and unfenced.
func (s *Server) register(ctx context.Context, b *config.Broker, endpoints []image.Endpoint) (*lifecycle, error) {
	ctx, cancel := context.WithTimeout(ctx, registrationTimeout)
	defer cancel()
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version = req.MaxVersion()
	req.BrokerID, req.ClusterID, req.IncarnationID, req.Rack = b.NodeID, s.ClusterID(), s.newUUID(), b.Rack
	for _, e := range endpoints {
		l := kmsg.NewBrokerRegistrationRequestListener()
		l.Name, l.Host, l.Port, l.SecurityProtocol = e.Name, e.Host, e.Port, e.SecurityProtocol
		req.Listeners = append(req.Listeners, l)
	}
	for _, d := range s.logs.Dirs() {
		if d.Err == nil {
			req.LogDirs = append(req.LogDirs, d.ID)
		}
	}
	req.PreviousBrokerEpoch = s.logs.CleanShutdownEpoch()
	resp, err := s.controller.Handle(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("register this broker: %w", err)
	}
	r := resp.(*kmsg.BrokerRegistrationResponse)
	if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
		return nil, fmt.Errorf("register this broker: %w", err)
	}
	l := &lifecycle{
		server: s, nodeID: b.NodeID, epoch: r.BrokerEpoch,
		interval: milliseconds(b.Quorum.BrokerHeartbeatIntervalMs),
	}
	if _, err := l.heartbeat(ctx, false); err != nil {
		return nil, fmt.Errorf("unfence this broker: %w", err)
	}
	l.mu.Lock()
	l.timer = s.env.Clock.AfterFunc(l.interval, l.beat)
	l.mu.Unlock()
	return l, nil
}

func (l *lifecycle) heartbeat(ctx context.Context, wantShutdown bool) (*kmsg.BrokerHeartbeatResponse, error) {
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.Version = req.MaxVersion()
	req.BrokerID, req.BrokerEpoch, req.WantShutdown = l.nodeID, l.epoch, wantShutdown
	req.CurrentMetadataOffset = l.server.controller.Image().Offset()
	req.OfflineLogDirs = l.server.offlineLogDirs()
	resp, err := l.server.controller.Handle(ctx, req)
	if err != nil {
		return nil, err
	}
	r := resp.(*kmsg.BrokerHeartbeatResponse)
	return r, kerr.ErrorForCode(r.ErrorCode)
}

// beat is one heartbeat of the timer.
func (l *lifecycle) beat() {
	l.mu.Lock()
	if l.stopped {
		l.mu.Unlock()
		return
	}
	done := make(chan struct{})
	l.beating = done
	l.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), registrationTimeout)
	if _, err := l.heartbeat(ctx, false); err != nil {
		l.server.logger.Warn("heartbeat to the controller failed", "error", err)
	}
	cancel()

	l.mu.Lock()
	l.beating = nil
	close(done)
	if !l.stopped {
		next := l.interval
		if l.again {
			l.again, next = false, 0
		}
		l.timer.Reset(next)
	}
	l.mu.Unlock()
}

// hurry has a heartbeat sent now: there is something to tell.
func (l *lifecycle) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped || l.timer == nil:
	case l.beating != nil:
		l.again = true
	default:
		l.timer.Reset(0)
	}
}

// stop ends the heartbeats and asks the controller to move leadership away.
func (l *lifecycle) stop(ctx context.Context) error {
	l.mu.Lock()
	l.stopped = true
	l.timer.Stop()
	beating := l.beating
	l.mu.Unlock()
	if beating != nil {
		select {
		case <-beating:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	_, err := l.heartbeat(ctx, true)
	return err
}
