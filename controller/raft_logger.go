package controller

import (
	"context"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// raftLogger writes what raft and its stores log to slog. Raft is chatty where nothing is wrong, so
// its "info" becomes debug.
type raftLogger struct {
	// Logger answers what isn't about writing lines.
	hclog.Logger
	slog *slog.Logger
}

func newRaftLogger(logger *slog.Logger) hclog.Logger {
	return &raftLogger{Logger: hclog.NewNullLogger(), slog: logger.With("part", "raft")}
}

func slogLevel(level hclog.Level) slog.Level {
	switch level {
	case hclog.Error:
		return slog.LevelError
	case hclog.Warn:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// Log implements hclog.Logger.
func (l *raftLogger) Log(level hclog.Level, msg string, args ...any) {
	l.slog.Log(context.Background(), slogLevel(level), msg, args...)
}

// Trace implements hclog.Logger.
func (l *raftLogger) Trace(msg string, args ...any) {}

// Debug implements hclog.Logger.
func (l *raftLogger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }

// Info implements hclog.Logger.
func (l *raftLogger) Info(msg string, args ...any) { l.Log(hclog.Info, msg, args...) }

// Warn implements hclog.Logger.
func (l *raftLogger) Warn(msg string, args ...any) { l.Log(hclog.Warn, msg, args...) }

// Error implements hclog.Logger.
func (l *raftLogger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

// With implements hclog.Logger.
func (l *raftLogger) With(args ...any) hclog.Logger {
	return &raftLogger{Logger: l.Logger, slog: l.slog.With(args...)}
}

// Named implements hclog.Logger; names aren't kept.
func (l *raftLogger) Named(string) hclog.Logger { return l }

// ResetNamed implements hclog.Logger.
func (l *raftLogger) ResetNamed(string) hclog.Logger { return l }
