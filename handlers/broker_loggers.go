package handlers

import (
	"context"
	"log/slog"

	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rootLogger is the only logger: everything is written by one slog.Logger.
const rootLogger = "root"

// logLevel is one of Kafka's levels with its place in slog's scale.
type logLevel struct {
	name  string
	level slog.Level
}

// logLevels are Kafka's levels, the most talkative first.
func logLevels() []logLevel {
	return []logLevel{
		{"TRACE", slog.LevelDebug - 4}, {"DEBUG", slog.LevelDebug}, {"INFO", slog.LevelInfo},
		{"WARN", slog.LevelWarn}, {"ERROR", slog.LevelError}, {"FATAL", slog.LevelError + 4},
	}
}

// describeLoggers lists the loggers with the level in force.
func (d *Deps) describeLoggers() []config.Row {
	name := "FATAL"
	for _, l := range logLevels() {
		if d.Logger.Enabled(context.Background(), l.level) {
			name = l.name
			break
		}
	}
	return []config.Row{{Name: rootLogger, Value: &name, Source: config.SourceDynamicBrokerLogger}}
}

// alterLoggers checks changes of log levels, and makes them unless validateOnly (ConfigAdminManager).
func (d *Deps) alterLoggers(broker string, ops []kmsg.IncrementalAlterConfigsRequestResourceConfig, validateOnly bool) error {
	bad := func(format string, args ...any) error { return kerror.New(kerr.InvalidRequest, format, args...) }
	if err := d.checkNodeID(broker, "Unexpected node id. Expected %d, but received %s"); err != nil {
		return err
	}
	levels := make([]slog.Level, 0, len(ops))
	for _, o := range ops {
		switch o.Op {
		case kmsg.IncrementalAlterConfigOpSet:
			if o.Value == nil {
				return bad("Null value not supported for : %s", o.Name)
			}
			level, ok := parseLevel(*o.Value)
			if !ok {
				return kerror.New(kerr.InvalidConfig, "Cannot set the log level of %s to %s as it is not a supported log level. "+
					"Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN", o.Name, *o.Value)
			}
			if o.Name != rootLogger {
				return kerror.New(kerr.InvalidConfig, "Logger %s does not exist!", o.Name)
			}
			levels = append(levels, level)
		case kmsg.IncrementalAlterConfigOpDelete:
			if o.Name == rootLogger {
				return bad("Removing the log level of the root logger is not allowed")
			}
			return kerror.New(kerr.InvalidConfig, "Logger %s does not exist!", o.Name)
		case kmsg.IncrementalAlterConfigOpAppend:
			return bad("APPEND operation is not allowed for the BROKER_LOGGER resource")
		case kmsg.IncrementalAlterConfigOpSubtract:
			return bad("SUBTRACT operation is not allowed for the BROKER_LOGGER resource")
		default:
			return bad("Unknown operation type %d is not allowed for the BROKER_LOGGER resource", int8(o.Op))
		}
	}
	if validateOnly || len(levels) == 0 {
		return nil
	}
	if d.LogLevel == nil {
		return kerror.New(kerr.InvalidConfig, "The log level of this broker is fixed.")
	}
	level := levels[len(levels)-1]
	d.LogLevel.Set(level)
	d.Logger.Warn("the log level was changed", "level", level)
	return nil
}

func parseLevel(name string) (slog.Level, bool) {
	for _, l := range logLevels() {
		if l.name == name {
			return l.level, true
		}
	}
	return 0, false
}
