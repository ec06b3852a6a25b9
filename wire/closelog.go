package wire

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// logBurst lines of one kind are written in a logWindow; the rest is counted.
	logBurst  = 5
	logWindow = 10 * time.Second
)

// closeLog says why connections are closed, a bounded number of lines a kind and time.
type closeLog struct {
	logger *slog.Logger
	now    func() time.Time

	mu    sync.Mutex
	kinds [numCloseKinds]struct {
		window     time.Time
		lines      int
		suppressed int
	}
}

// allow says whether a line of this kind may be written, and how many weren't since the last.
func (c *closeLog) allow(kind closeKind) (suppressed int, ok bool) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &c.kinds[kind]
	if now.Sub(k.window) >= logWindow {
		k.window, k.lines = now, 0
	}
	if k.lines >= logBurst {
		k.suppressed++
		return 0, false
	}
	k.lines++
	suppressed, k.suppressed = k.suppressed, 0
	return suppressed, true
}

// log says that a connection is closed because of what its client did.
func (c *closeLog) log(l *link, reason error) {
	kind := kindOf(reason)
	suppressed, ok := c.allow(kind)
	if !ok {
		return
	}
	l.mu.Lock()
	clientID, last, read := l.clientID, l.last, l.started
	l.mu.Unlock()
	args := []any{
		"reason", reason.Error(), "kind", closeKindNames[kind],
		"client", l.session.ClientAddr.String(), "listener", l.session.Listener,
	}
	if read {
		if clientID == nil {
			clientID = new(string)
		}
		args = append(args, "clientID", *clientID, "api", APIName(last.Key), "version", last.Version, "correlationID", last.CorrelationID)
	}
	if suppressed > 0 {
		args = append(args, "suppressed", suppressed)
	}
	c.logger.Warn("closing connection", args...)
}

// event logs something that belongs to no connection.
func (c *closeLog) event(kind closeKind, message string, args ...any) {
	suppressed, ok := c.allow(kind)
	if !ok {
		return
	}
	if suppressed > 0 {
		args = append(args, "suppressed", suppressed)
	}
	c.logger.Warn(message, args...)
}
