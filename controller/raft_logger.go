package controller

import (
	"context"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// raftLogger writes what raft and its stores log to slog. Raft is chatty where nothing is wrong, so
// its "info" becomes debug, and so do its errors that only tell of a voter that is away, comes back or leads
// instead: some come ten times a second, and peerTransport tells of that once.
type raftLogger struct {
	// Logger answers what isn't about writing lines.
	hclog.Logger
	slog *slog.Logger
}

func newRaftLogger(logger *slog.Logger) hclog.Logger {
	return &raftLogger{Logger: hclog.NewNullLogger(), slog: logger.With("part", "raft")}
}

// ordinary are the beginnings of messages that come, often again and again, while a voter is away or behind, or
// when another voter has become the leader.
var ordinary = [...]string{
	"failed to heartbeat to", "failed to appendEntries to", "failed to make requestVote RPC", "failed to make pre-vote RPC",
	"appendEntries rejected", "failed to get previous log", "previous log term mis-match", "rejecting vote request",
	"rejecting pre-vote request", "failed to contact", "heartbeat timeout reached", "failed to decode incoming command",
	"failed to flush response", "Election timeout reached", "no known peers", "not part of stable configuration",
	"failed to send snapshot to", "failed to accept connection",
	"failed to start pipeline replication to", "failed to pipeline appendEntries", "peer has newer term",
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
	to := slogLevel(level)
	for _, r := range ordinary {
		if strings.HasPrefix(msg, r) {
			to = slog.LevelDebug
		}
	}
	l.slog.Log(context.Background(), to, msg, args...)
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
