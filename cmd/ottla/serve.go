package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/server"
	"github.com/ottla/ottla/internal/vfs"
)

type serveCommand struct {
	Config   string   `short:"c" type:"existingfile" placeholder:"FILE" help:"Kafka's server.properties."`
	Override []string `short:"o" name:"override" placeholder:"KEY=VALUE" sep:"none" help:"Set a configuration key; repeatable."`
	Metrics  string   `env:"OTTLA_METRICS_ADDRESS" placeholder:"HOST:PORT" help:"Serve /metrics for Prometheus over HTTP on this address."`
}

// Run runs a node until SIGTERM or SIGINT.
func (c *serveCommand) Run() error {
	level := &slog.LevelVar{}
	logger := newLogger(os.Stderr, os.Getenv("OTTLA_LOG_FORMAT"), level)
	debug.SetMaxThreads(maxThreads)
	limitMemory(logger, memlimit.FromCgroup)
	processors := spareProcessors(os.Getenv)
	settings, warnings, err := c.settings(os.Environ())
	if err != nil {
		return err
	}
	for _, w := range warnings {
		logger.Warn(w)
	}
	hostname, err := os.Hostname()
	if err != nil {
		hostname = "localhost"
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return server.Run(ctx, settings, server.Environment{
		FS: vfs.OS{}, Clock: clock.System{}, Hostname: hostname, LogLevel: level, MetricsAddress: c.Metrics, Processors: processors,
		Rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
	}, logger)
}

// settings puts file, environment and command line together. A node that is given none of them runs
// on the zero configuration; one that lacks only listeners or directories gets those from it.
func (c *serveCommand) settings(environ []string) (*config.Broker, []string, error) {
	static := map[string]string{}
	if c.Config != "" {
		f, err := os.Open(c.Config)
		if err != nil {
			return nil, nil, err
		}
		fromFile, err := config.LoadProperties(f)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.Config, err)
		}
		maps.Copy(static, fromFile)
	}
	maps.Copy(static, config.FromEnviron(environ))
	for _, o := range c.Override {
		key, value, err := config.ParseOverride(o)
		if err != nil {
			return nil, nil, err
		}
		static[key] = value
	}
	if c.Config == "" {
		zero := config.ZeroConfig()
		if _, ok := static["log.dir"]; ok {
			delete(zero, "log.dirs")
		}
		maps.Copy(zero, static)
		static = zero
	}
	return config.Load(static)
}

// newLogger logs as text, or as JSON for format "json", what is at least at level.
func newLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
