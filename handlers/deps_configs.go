package handlers

import (
	"log/slog"

	"github.com/ottla/ottla/internal/config"
)

// Configs is this broker's settings.
type Configs interface {
	// Broker is the settings in force now: file, environment, and dynamic settings of this broker and
	// of the cluster. Settings of a topic come from Broker().Topic(image.Configs(…)).
	Broker() *config.Broker
}

// LogLevelSetter is implemented by Configs whose log level can be changed while the broker runs.
type LogLevelSetter interface {
	// SetLogLevel changes the level of the broker's logger, until it is changed again or restarts.
	SetLogLevel(slog.Level)
}
