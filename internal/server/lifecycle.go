package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/config"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// lifecycle is this broker's registration with the active controller: it keeps it alive by heartbeats
// and gives leadership up at the end. One goroutine sends the heartbeats.
type lifecycle struct {
	server    *Server
	nodeID    int32
	epoch     int64
	interval  time.Duration
	timeout   time.Duration
	handsOver bool

	// urgent is sent to when a heartbeat is due at once.
	urgent chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
}

const (
	// minRetry and maxRetry are the pauses between attempts to reach a controller.
	minRetry = 20 * time.Millisecond
	maxRetry = time.Second
	// controllerSilence is how long a stopping broker waits for a controller that doesn't answer: the last
	// nodes of a cluster that is being stopped have none.
	controllerSilence = 5 * time.Second
)

// register makes this broker known and unfenced, and starts its heartbeats. It tries again, for
// initial.broker.registration.timeout.ms, where a controller may come or change its mind.
func (s *Server) register(ctx context.Context, b *config.Broker, endpoints []image.Endpoint) (*lifecycle, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, milliseconds(b.Quorum.InitialRegistrationTimeoutMs),
		errors.New("initial.broker.registration.timeout.ms has passed"))
	defer cancel()
	l := &lifecycle{
		server: s, nodeID: b.NodeID, interval: milliseconds(b.Quorum.BrokerHeartbeatIntervalMs),
		timeout: milliseconds(b.Quorum.RequestTimeoutMs), handsOver: b.Quorum.ControlledShutdown,
		urgent: make(chan struct{}, 1), done: make(chan struct{}),
	}
	err := s.persist(ctx, "registration", func(ctx context.Context) (bool, error) {
		err := l.register(ctx, s.registration(b, endpoints))
		return err == nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("register this broker: %w", err)
	}
	// Followers and leaders must know the epoch before this broker leads or follows anything.
	s.replicas.SetBrokerEpoch(l.epoch)
	err = s.persist(ctx, "unfencing", func(ctx context.Context) (bool, error) {
		r, err := l.heartbeat(ctx, false)
		return err == nil && !r.IsFenced, err
	})
	if err != nil {
		return nil, fmt.Errorf("unfence this broker: %w", err)
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.cancel = stop
	go l.run(beating)
	return l, nil
}

// registration is the request of this start of the broker.
func (s *Server) registration(b *config.Broker, endpoints []image.Endpoint) *kmsg.BrokerRegistrationRequest {
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version = req.MaxVersion()
	req.BrokerID, req.ClusterID, req.IncarnationID, req.Rack = b.NodeID, s.ClusterID(), s.controller.Incarnation(), b.Rack
	for _, e := range endpoints {
		l := kmsg.NewBrokerRegistrationRequestListener()
		l.Name, l.Host, l.Port, l.SecurityProtocol = e.Name, e.Host, e.Port, e.SecurityProtocol
		req.Listeners = append(req.Listeners, l)
	}
	for _, f := range image.SupportedFeatures() {
		x := kmsg.NewBrokerRegistrationRequestFeature()
		x.Name, x.MinSupportedVersion, x.MaxSupportedVersion = f.Name, f.Min, f.Max
		req.Features = append(req.Features, x)
	}
	for _, d := range s.logs.Dirs() {
		if d.Err == nil {
			req.LogDirs = append(req.LogDirs, d.ID)
		}
	}
	req.PreviousBrokerEpoch = s.logs.CleanShutdownEpoch()
	return req
}

func (l *lifecycle) register(ctx context.Context, req *kmsg.BrokerRegistrationRequest) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	resp, err := l.server.controller.Handle(ctx, req)
	if err != nil {
		return err
	}
	r := resp.(*kmsg.BrokerRegistrationResponse)
	l.epoch = r.BrokerEpoch
	return kerr.ErrorForCode(r.ErrorCode)
}

// persist repeats an attempt until it is done, fails for good, or ctx ends. The first failure of each kind
// is logged.
func (s *Server) persist(ctx context.Context, what string, attempt func(context.Context) (done bool, err error)) error {
	logged := map[string]bool{}
	for pause := minRetry; ; pause = min(2*pause, maxRetry) {
		done, err := attempt(ctx)
		if done {
			return nil
		}
		if err != nil && hopeless(err) {
			return err
		}
		if err != nil && ctx.Err() == nil && !logged[err.Error()] {
			logged[err.Error()] = true
			s.logger.Info("the controller refuses or can't be reached, trying again", "request", what, "error", err)
		}
		if clock.Sleep(ctx, s.env.Clock, pause) != nil {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// hopeless tells that a controller will say the same again.
func hopeless(err error) bool {
	for _, e := range []error{kerr.InconsistentClusterID, kerr.UnsupportedVersion, kerr.InvalidRegistration, kerr.InvalidRequest, kerr.BrokerIDNotRegistered} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func (l *lifecycle) heartbeat(ctx context.Context, wantShutdown bool) (*kmsg.BrokerHeartbeatResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
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

// run sends heartbeats until ctx ends. A broker that was fenced, since it was silent for too long, beats
// faster until it isn't.
func (l *lifecycle) run(ctx context.Context) {
	defer close(l.done)
	logger := l.server.logger
	failing, fenced := false, false
	for pause := l.interval; l.rest(ctx, pause); {
		r, err := l.heartbeat(ctx, false)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !failing {
				logger.Warn("heartbeat to the controller failed, trying on", "error", err)
			}
			failing, pause = true, min(l.interval, maxRetry)
			continue
		case failing:
			logger.Info("heartbeats reach the controller again")
		}
		failing, pause = false, l.interval
		if r.IsFenced != fenced {
			logger.Warn("the controller has changed its mind on this broker", "fenced", r.IsFenced)
		}
		if fenced = r.IsFenced; fenced {
			pause = min(l.interval, maxRetry)
		}
	}
}

// rest waits until the next heartbeat is due; it reports false if ctx ended first.
func (l *lifecycle) rest(ctx context.Context, d time.Duration) bool {
	woken := make(chan struct{})
	t := l.server.env.Clock.AfterFunc(d, func() { close(woken) })
	defer t.Stop()
	select {
	case <-woken:
		return true
	case <-l.urgent:
		return true
	case <-ctx.Done():
		return false
	}
}

// hurry has a heartbeat sent now: there is something to tell.
func (l *lifecycle) hurry() {
	select {
	case l.urgent <- struct{}{}:
	default:
	}
}

// stop ends the heartbeats and asks the controller to move leadership away, until it has or ctx ends.
func (l *lifecycle) stop(ctx context.Context) error {
	l.cancel()
	<-l.done
	if !l.handsOver {
		return nil
	}
	clk := l.server.env.Clock
	heard := clk.Now()
	for pause := minRetry; ; pause = min(2*pause, l.interval) {
		r, err := l.heartbeat(ctx, true)
		switch {
		case err == nil && r.ShouldShutdown:
			return nil
		case err == nil:
			heard = clk.Now()
		case errors.Is(err, kerr.StaleBrokerEpoch), clk.Now().Sub(heard) > controllerSilence:
			l.server.logger.Warn("stopping without the controller's consent", "error", err)
			return nil
		}
		if clock.Sleep(ctx, clk, pause) != nil {
			return fmt.Errorf("leadership is not handed over: %w", errors.Join(context.Cause(ctx), err))
		}
	}
}
