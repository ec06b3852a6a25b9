package testcluster

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// events is what happened in a run, for whoever reads of a failure. It is cheap while nobody does: lines are
// put together when they are asked for.
type events struct {
	start time.Time
	// nodes says that the nodes' own logs are kept too, from a level on.
	level slog.Level

	mu   sync.Mutex
	list []event
}

type event struct {
	at   time.Duration
	who  string
	text string
	args []any
	rec  *slog.Record
}

func newEvents(level slog.Level) *events { return &events{start: time.Now(), level: level} }

// add notes what somebody did; args must not change any more.
func (e *events) add(who, format string, args ...any) {
	at := time.Since(e.start)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, event{at: at, who: who, text: format, args: args})
}

// String is all of it, a line each.
func (e *events) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for _, x := range e.list {
		fmt.Fprintf(&b, "%10.4f %-11s ", x.at.Seconds(), x.who)
		if x.rec == nil {
			fmt.Fprintf(&b, x.text, x.args...)
		} else {
			b.WriteString(x.rec.Level.String() + " " + x.rec.Message)
			x.rec.Attrs(func(a slog.Attr) bool {
				fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
				return true
			})
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// logger is a node's logger.
func (e *events) logger(who string) *slog.Logger { return slog.New(eventHandler{events: e, who: who}) }

// eventHandler keeps a node's log lines; it implements slog.Handler.
type eventHandler struct {
	events *events
	who    string
	attrs  []slog.Attr
}

// Enabled implements slog.Handler.
func (h eventHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.events.level }

// Handle implements slog.Handler.
func (h eventHandler) Handle(_ context.Context, r slog.Record) error {
	r = r.Clone()
	r.AddAttrs(h.attrs...)
	at := time.Since(h.events.start)
	h.events.mu.Lock()
	defer h.events.mu.Unlock()
	h.events.list = append(h.events.list, event{at: at, who: h.who, rec: &r})
	return nil
}

// WithAttrs implements slog.Handler.
func (h eventHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = append(append([]slog.Attr(nil), h.attrs...), attrs...)
	return h
}

// WithGroup implements slog.Handler; groups aren't told apart.
func (h eventHandler) WithGroup(string) slog.Handler { return h }
