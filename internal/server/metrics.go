package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metricsPage serves /metrics to Prometheus: what collect tells, and the process's own figures; and Go's profiles under
// /debug/pprof/.
type metricsPage struct {
	listener net.Listener
	http     *http.Server
	done     chan struct{}
}

// metricsTimeout bounds reading a scrape's request and writing its answer.
const metricsTimeout = 30 * time.Second

// startMetrics serves the page on an address.
func startMetrics(address string, c prometheus.Collector) (*metricsPage, error) {
	registry := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: metricsTimeout}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	p := &metricsPage{
		listener: ln, done: make(chan struct{}),
		http: &http.Server{Handler: mux, ReadHeaderTimeout: metricsTimeout, WriteTimeout: 2 * metricsTimeout, MaxHeaderBytes: 16 << 10},
	}
	go func() {
		defer close(p.done)
		_ = p.http.Serve(ln) // It ends when stop closes it.
	}()
	return p, nil
}

// stop lets running scrapes finish until ctx ends.
func (p *metricsPage) stop(ctx context.Context) error {
	err := p.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, p.http.Close())
	}
	<-p.done
	return err
}
