package controller

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// An operator's alarm goes by the level: what any restart of a voter brings with it isn't an error.
func TestRaftLoggerLevels(t *testing.T) {
	for _, c := range []struct {
		level hclog.Level
		msg   string
		want  slog.Level
	}{
		{hclog.Error, "failed to append to logs", slog.LevelError},
		{hclog.Error, "peer has newer term, stopping replication", slog.LevelDebug},
		{hclog.Error, "failed to pipeline appendEntries", slog.LevelDebug},
		{hclog.Error, "failed to start pipeline replication to", slog.LevelDebug},
		{hclog.Error, "failed to heartbeat to", slog.LevelDebug},
		{hclog.Warn, "something else", slog.LevelWarn},
		{hclog.Info, "entering leader state", slog.LevelDebug},
	} {
		var out bytes.Buffer
		logger := newRaftLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
		logger.Log(c.level, c.msg)
		if want := "level=" + c.want.String() + " "; !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("%v %q: %s, want %s", c.level, c.msg, out.String(), want)
		}
	}
}
