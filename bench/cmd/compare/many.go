package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/load"
)

const (
	// manyTopics of manyEach partitions are written to, one record a second to each partition.
	manyTopics, manyEach = 100, 100
	// manySeconds is how long a run lasts.
	manySeconds = 8
	// manyTime is kept for the runs when the topics are made.
	manyTime = 20 * time.Second
	// manyLate and firstLate are how long a broker that falls behind has after a run's seconds, and when files are made.
	manyLate, firstLate = 2 * time.Second, time.Minute
	// manyRounds is how often it runs, at most.
	manyRounds = 2
)

// manyPartitions measures single records to very many partitions. They are made once a broker, and
// written to once before it counts.
func manyPartitions(ctx context.Context, o options, rep *report, only *regexp.Regexp, nodes []*node.Node, began time.Time) (err error) {
	names := make([]string, max(min(manyTopics, manyTopics*usualScale/o.scale), 1))
	if o.quick {
		names = names[:len(names)/2] // They take longer to make than to measure.
	}
	for i := range names {
		names[i] = fmt.Sprintf("bench-many-%02d", i)
	}
	name := fmt.Sprintf("%d partitions, one record/s each", len(names)*manyEach)
	if !only.MatchString(name) {
		return nil
	}
	s := scenario{name: name, unit: "record", topics: own, run: func(_ context.Context, n *node.Node, _ string) (outcome, error) {
		l := trickle(n, names, max(manySeconds/o.scale, 2), manyLate)
		r, err := l.Run()
		return outcome{bytes: float64(r.Bytes), units: float64(r.Records), figures: measurement{"p50 ms": ms(&r, 50), "p99 ms": ms(&r, 99), "sent, %": 100 * l.SentShare(&r)}}, err
	}}
	var ready []*node.Node
	for _, n := range nodes {
		defer func() { err = errors.Join(err, load.DeleteTopics(n.Address, names)) }()
		// A broker that isn't ready in time doesn't keep the other from being measured.
		if err := makeMany(ctx, rep, name, n, names, o.limit-time.Since(began)-manyTime); err != nil {
			rep.note("%s, %s: FAILED: %v", name, n.Name, err)
			continue
		}
		ready = append(ready, n)
	}
	rounds := min(manyRounds, o.rounds)
	rep.note("%s: %d rounds of %d", name, rounds, o.rounds)
	for r := range rounds {
		for _, n := range ready {
			if ctx.Err() != nil || time.Since(began) > o.limit {
				return errors.New("out of time")
			}
			m, err := measure(ctx, n, s)
			if err != nil {
				rep.note("%s, round %d, %s: FAILED: %v", name, r+1, n.Name, err)
				continue
			}
			rep.Add(name, n.Name, m)
		}
	}
	return nil
}

// makeMany makes the topics of one broker, and writes to each partition.
func makeMany(ctx context.Context, rep *report, name string, n *node.Node, topics []string, limit time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	start := time.Now()
	if err := load.CreateTopics(n.Address, topics, manyEach, limit); err != nil {
		return err
	}
	rep.Add(name, n.Name, measurement{"create s": time.Since(start).Seconds()})
	if _, err := trickle(n, topics, 2, firstLate).Run(); err != nil {
		return err
	}
	return proc.Settle(ctx, n.Pid, 10*time.Second)
}

func trickle(n *node.Node, topics []string, seconds int64, late time.Duration) *load.Trickle {
	return &load.Trickle{Address: n.Address, Topics: topics, Partitions: manyEach, RecordBytes: 1024, Seconds: seconds, Late: late}
}
