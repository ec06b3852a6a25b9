package main

import (
	"context"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/load"
)

// stream measures latencies from end to end at a fixed rate; records are those delivered.
func stream(name string, s load.Stream) scenario {
	s.RecordBytes = 1024
	return scenario{name: name, unit: "record", run: func(_ context.Context, n *node.Node, topic string) (outcome, error) {
		s := s
		s.Address, s.Topic = n.Address, topic
		r, err := s.Run()
		return outcome{bytes: float64(r.Bytes), units: float64(r.Records), figures: measurement{
			"p50 ms": ms(&r, 50), "p99 ms": ms(&r, 99), "p99.9 ms": ms(&r, 99.9), "records/request": r.RecordsPerRequest(s.Consumers),
		}}, err
	}}
}
