package main

import (
	"context"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/load"
)

const (
	// hoardTime is how long the clients that don't read stay.
	hoardTime = 4 * time.Second
	// sampleEvery is how often memory is looked at.
	sampleEvery = 50 * time.Millisecond
)

// neverRead measures what clients that fetch and never read cost the broker's memory, and another client's
// latency.
func neverRead(wait time.Duration) scenario {
	return scenario{name: "20 clients, 20 fetches of 1 MiB each, never read", topics: filled, rounds: 2,
		run: func(_ context.Context, n *node.Node, topic string) (out outcome, err error) {
			aside := topic + "-aside"
			if err := load.CreateTopic(n.Address, aside, 1); err != nil {
				return outcome{}, err
			}
			defer func() {
				if derr := load.DeleteTopic(n.Address, aside); err == nil {
					err = derr
				}
			}()
			other := load.Produce{Address: n.Address, Topic: aside, Partitions: 1, BatchBytes: 16 << 10, RecordBytes: 1024, Connections: 1, Depth: 1, Acks: -1, For: wait / 2}
			alone, err := other.Run()
			if err != nil {
				return outcome{}, err
			}
			before, err := proc.Read(n.Pid)
			if err != nil {
				return outcome{}, err
			}
			other.For = wait
			var beside load.Result
			var most int64
			err = load.Hoard{Address: n.Address, Topic: topic, Clients: 20, Requests: 20, MaxBytes: 1 << 20}.Run(func() error {
				most = mostRSS(n.Pid, func() { beside, err = other.Run() })
				return err
			})
			if err != nil {
				return outcome{}, err
			}
			return outcome{figures: measurement{
				"RSS growth MiB": float64(max(most-before.RSS, 0)) / (1 << 20), "other client alone, p99 ms": ms(&alone, 99), "other client, p99 ms": ms(&beside, 99),
			}}, nil
		}}
}

// mostRSS is the most resident bytes that a process is seen with while f runs.
func mostRSS(pid int, f func()) int64 {
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	var most int64
	for {
		if u, err := proc.Read(pid); err == nil {
			most = max(most, u.RSS)
		}
		select {
		case <-done:
			return most
		case <-time.After(sampleEvery):
		}
	}
}
