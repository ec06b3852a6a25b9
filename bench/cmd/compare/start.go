package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/load"
)

// startBoth times starts with an empty directory, and returns the last node of each kind.
func startBoth(ctx context.Context, o options, rep *report) (ottla, kafka *node.Node, err error) {
	start := func(times int, name string, one func(dir string) (*node.Node, error)) (*node.Node, error) {
		for i := range times {
			dir := filepath.Join(o.dir, fmt.Sprintf("%s-%d", name, i))
			n, err := one(dir)
			if err != nil {
				return nil, err
			}
			rep.Add("start", name, measurement{"start ms": float64(n.StartTime.Microseconds()) / 1000})
			if i == times-1 {
				return n, nil
			}
			if err := n.Stop(); err != nil {
				return nil, err
			}
			if err := os.RemoveAll(dir); err != nil {
				return nil, err
			}
		}
		return nil, fmt.Errorf("%s must be started at least once", name)
	}
	secure, err := node.SecureSettings(o.dir)
	if err != nil {
		return nil, nil, err
	}
	kafka, err = start(o.kafkaStarts, "kafka", func(dir string) (*node.Node, error) { return node.StartKafka(ctx, o.java, o.libs, dir, secure...) })
	if err != nil {
		return nil, nil, err
	}
	ottla, err = start(o.starts, "ottla", func(dir string) (*node.Node, error) { return node.StartOttla(ctx, o.ottla, dir, secure...) })
	if err != nil {
		_ = kafka.Stop() // The first error tells more.
		return nil, nil, err
	}
	rep.single("program, MiB", "ottla", sizeMiB(o.ottla))
	rep.single("program, MiB", "kafka", sizeMiB(o.libs))
	return ottla, kafka, nil
}

// sizeMiB is the size of a file, or of all files in a folder.
func sizeMiB(path string) float64 {
	var sum int64
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return float64(sum) / (1 << 20)
}

// idlePause lets a started broker settle before its memory and its use of the CPU are read.
const idlePause = 3 * time.Second

// idle reads what brokers without work use.
func idle(rep *report, nodes []*node.Node) {
	time.Sleep(idlePause)
	before := make([]proc.Usage, len(nodes))
	for i, n := range nodes {
		before[i], _ = proc.Read(n.Pid)
	}
	time.Sleep(idlePause)
	for i, n := range nodes {
		after, err := proc.Read(n.Pid)
		if err != nil {
			rep.note("idle %s: %v", n.Name, err)
			continue
		}
		rep.single("idle RSS, MiB", n.Name, float64(after.RSS)/(1<<20))
		rep.single("idle CPU, % of a core", n.Name, 100*after.Sub(before[i]).CPU.Seconds()/idlePause.Seconds())
	}
}

// parkedConnections are enough that a connection's memory stands out.
const parkedConnections = 2000

// parked reads what open connections cost in memory: such that send nothing, and such that wait
// with a Fetch. It runs on brokers that have done nothing yet, whose heaps have no room left over.
func parked(rep *report, nodes []*node.Node) error {
	for _, n := range nodes {
		topic := "parked"
		if err := load.CreateTopic(n.Address, topic, 1); err != nil {
			return err
		}
		for _, idle := range []bool{true, false} {
			what := "fetch waiting"
			if idle {
				what = "idle"
			}
			before, err := proc.Read(n.Pid)
			if err != nil {
				return err
			}
			err = load.Park{Address: n.Address, Topic: topic, Connections: parkedConnections, Idle: idle}.Run(func() error {
				time.Sleep(idlePause / 2)
				after, err := proc.Read(n.Pid)
				rep.single("a connection, "+what+", kB resident", n.Name, float64(after.RSS-before.RSS)/1000/parkedConnections)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
