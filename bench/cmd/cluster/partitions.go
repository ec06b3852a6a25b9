package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/proc"
)

// createBatch is how many partitions one CreateTopics asks for.
const createBatch = 1000

var everyone = []int{0, 1, 2}

// manyPartitions creates the partitions in a fresh cluster, breaks nodes, and tells how long it takes to be whole again.
func manyPartitions(ctx context.Context, o *options, rep *report, s system) (err error) {
	dir := filepath.Join(o.dir, "partitions-"+s.name)
	c, err := s.start(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop(), os.RemoveAll(dir)) }()
	w, err := newWatcher(c, o.limit)
	if err != nil {
		return err
	}
	defer w.close()
	scenario := fmt.Sprintf("%d partitions", o.partitions)
	tell := func(name string, v float64) {
		rep.Add(scenario, s.name, measurement{name: v})
		rep.progress("%s: %s %.2f, load average %.1f", s.name, name, v, proc.LoadAverage())
	}
	whole := func(v view) bool {
		return v.partitions == o.partitions && v.led == v.partitions && v.inSync == v.partitions
	}

	before := cpu(c)
	began := time.Now()
	for made := 0; made < o.partitions; {
		var topics []string
		for range createBatch / o.perTopic {
			if made < o.partitions {
				topics = append(topics, fmt.Sprintf("many-%d", made))
				made += o.perTopic
			}
		}
		if err := w.create(ctx, o.perTopic, topics...); err != nil {
			return err
		}
	}
	tell("1 create: answered, s", time.Since(began).Seconds())
	took, _, err := w.until(ctx, began, everyone, whole)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	tell("1 create: led and in sync, s", took.Seconds())
	tell("1 create: CPU, s", (cpu(c) - before).Seconds())

	if err := idle(ctx, o, c, tell); err != nil {
		return err
	}
	if err := failover(ctx, w, o.partitions, whole, tell); err != nil {
		return err
	}
	return restart(ctx, w, o.partitions, whole, tell)
}

// cpu is what all living nodes have used.
func cpu(c *node.Cluster) time.Duration {
	var sum time.Duration
	for _, n := range c.Nodes {
		u, err := proc.Read(n.Pid)
		if err == nil { // A node that has ended uses nothing more.
			sum += u.CPU
		}
	}
	return sum
}

// idle watches nodes that have nothing to do.
func idle(ctx context.Context, o *options, c *node.Cluster, tell func(string, float64)) error {
	select { // What the creation left behind shall be done.
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Second):
	}
	before := cpu(c)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(o.idle):
	}
	tell("2 idle: CPU of all nodes, % of a core", 100*(cpu(c)-before).Seconds()/o.idle.Seconds())
	var rss int64
	var files, connections int
	ports, err := portsOf(c)
	if err != nil {
		return err
	}
	for i, n := range c.Nodes {
		u, err := proc.Read(n.Pid)
		if err != nil {
			return err
		}
		rss = max(rss, u.RSS)
		var others []int
		for j, p := range ports {
			if j != i {
				others = append(others, p)
			}
		}
		f, err := proc.ReadFiles(n.Pid, others)
		if err != nil {
			return err
		}
		files, connections = max(files, f.Open), max(connections, f.Connections)
	}
	tell("2 idle: RSS of the largest node, MiB", float64(rss)/(1<<20))
	tell("2 idle: open files of a node, at most", float64(files))
	tell("2 idle: connections of a node to other brokers, at most", float64(connections))
	return nil
}

// portsOf are those of the nodes' listeners for clients and brokers.
func portsOf(c *node.Cluster) ([]int, error) {
	var ports []int
	for _, address := range c.Addresses() {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		n, err := strconv.Atoi(port)
		if err != nil {
			return nil, err
		}
		ports = append(ports, n)
	}
	return ports, nil
}

// failover kills the active controller, which leads a third of the partitions, and starts it again.
func failover(ctx context.Context, w *watcher, partitions int, whole func(view) bool, tell func(string, float64)) error {
	victim, err := w.controller(ctx)
	if err != nil {
		return err
	}
	var alive []int
	for _, i := range everyone {
		if i != victim {
			alive = append(alive, i)
		}
	}
	if err := w.c.Kill(victim); err != nil {
		return err
	}
	took, err := w.untilAnswered(ctx, time.Now(), alive, partitions)
	if err != nil {
		return fmt.Errorf("after the controller was killed: %w", err)
	}
	tell("3 kill -9 of the active controller: all leaders answer, s", took.Seconds())
	began := time.Now()
	if err := w.c.Restart(victim); err != nil {
		return err
	}
	if took, _, err = w.until(ctx, began, everyone, whole); err != nil {
		return fmt.Errorf("after the controller was started again: %w", err)
	}
	tell("4 start after kill -9: in sync, s", took.Seconds())
	return nil
}

// restart ends a node in order and starts it again.
func restart(ctx context.Context, w *watcher, partitions int, whole func(view) bool, tell func(string, float64)) error {
	victim, err := w.controller(ctx)
	if err != nil {
		return err
	}
	victim = (victim + 1) % node.Members // Not the controller.
	var alive []int
	for _, i := range everyone {
		if i != victim {
			alive = append(alive, i)
		}
	}
	began := time.Now()
	if err := w.c.StopNode(victim); err != nil {
		return err
	}
	tell("5 orderly stop: ended, s", time.Since(began).Seconds())
	took, err := w.untilAnswered(ctx, began, alive, partitions)
	if err != nil {
		return fmt.Errorf("after an orderly stop: %w", err)
	}
	tell("5 orderly stop: all leaders answer, s", took.Seconds())
	began = time.Now()
	if err := w.c.Restart(victim); err != nil {
		return err
	}
	if took, _, err = w.until(ctx, began, everyone, whole); err != nil {
		return fmt.Errorf("after an orderly restart: %w", err)
	}
	tell("6 start after an orderly stop: in sync, s", took.Seconds())
	return nil
}
