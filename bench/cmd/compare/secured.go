package main

import (
	"context"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/load"
)

// secured is a scenario whose load goes to the listener for SSL: TLS 1.3, what both sides choose of themselves.
func secured(name string, s scenario) scenario {
	run := s.run
	s.name = name
	s.run = func(ctx context.Context, n *node.Node, topic string) (outcome, error) {
		other := *n
		other.Address = load.SecureScheme + n.Secure
		return run(ctx, &other, topic)
	}
	return s
}
