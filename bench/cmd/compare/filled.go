package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/pagecache"
	"github.com/ottla/ottla/bench/load"
)

// readTopic has the data that is read, in one partition.
const readTopic = "bench-filled"

// filledBytes is how much data it has: more than any CPU cache, and less than a segment.
func filledBytes(o options) int64 { return max(512<<20/o.scale, 128<<20) }

// fill writes batches of 16 KiB, as many clients do.
func fill(o options, n *node.Node) error {
	const batch = 16 << 10
	if err := load.CreateTopic(n.Address, readTopic, 1); err != nil {
		return err
	}
	_, err := load.Produce{Address: n.Address, Topic: readTopic, Partitions: 1, BatchBytes: batch, RecordBytes: 1024, Connections: 1, Depth: 5, Acks: 1,
		Requests: filledBytes(o) / batch}.Run()
	return err
}

// coldShare is how much of the files may stay in the page cache, 1/coldShare.
const coldShare = 20

// coldRead drains the filled topic once after its files were taken out of the page cache.
func coldRead() scenario {
	return scenario{name: "fetch 1 MiB, cold page cache", unit: "request", topics: filled, rounds: 3,
		run: func(_ context.Context, n *node.Node, topic string) (outcome, error) {
			got, err := pagecache.Drop(filepath.Join(n.Data, topic+"-0"))
			if err != nil {
				return outcome{}, err
			}
			if got.Cached > got.Total/coldShare {
				return outcome{}, fmt.Errorf("%d of %d bytes stay in the page cache", got.Cached, got.Total)
			}
			r, err := load.Drain{Address: n.Address, Topic: topic, MaxBytes: 1 << 20}.Run()
			return rawOutcome(&r), err
		}}
}
