package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/load"
)

// row is one start.
type row struct {
	name string
	// answers is from exec to the first Metadata answer with a broker, led to the one in which every
	// partition has a leader.
	answers, led, cpu time.Duration
	rss, read         int64
	files             int
}

type table struct {
	o    options
	rows []row
	// create and write are how long it took to fill the broker.
	create, write time.Duration
	// stopping is how long each clean stop took.
	stopping []string
	topics   []string
}

func newTable(o options) *table {
	t := &table{o: o}
	for i := range o.topics {
		t.topics = append(t.topics, fmt.Sprintf("startup-%d", i))
	}
	return t
}

// String is the table as text.
func (t *table) String() string {
	var b strings.Builder
	b.WriteString(head(t.o))
	fmt.Fprintf(&b, "topics created in %.1f s, records written in %.1f s, clean stops in %s\n\n",
		t.create.Seconds(), t.write.Seconds(), strings.Join(t.stopping, " and "))
	fmt.Fprintf(&b, "%-28s %9s %9s %8s %8s %7s %9s\n", "start after", "answers s", "all led s", "CPU s", "RSS MiB", "files", "read MiB")
	for _, r := range t.rows {
		fmt.Fprintf(&b, "%-28s %9.2f %9.2f %8.2f %8d %7d %9.1f\n", r.name, r.answers.Seconds(), r.led.Seconds(),
			r.cpu.Seconds(), r.rss>>20, r.files, float64(r.read)/(1<<20))
	}
	return b.String()
}

// measure fills a broker and starts it again and again.
func (t *table) measure(ctx context.Context, o options) error {
	n, err := node.StartOttla(ctx, o.ottla, o.dir)
	if err != nil {
		return err
	}
	if err := t.fill(n.Address); err != nil {
		_ = n.Kill() // The first error tells more.
		return err
	}
	if err := t.note("(first start, written)", n); err != nil {
		return err
	}
	steps := []struct {
		name string
		end  func(*node.Node) error
	}{
		{"kill -9 right after writes", (*node.Node).Kill},
		{"clean stop", t.stop},
		{"kill -9, nothing written", (*node.Node).Kill},
		{"kill -9, no checkpoints left", func(n *node.Node) error {
			if err := n.Kill(); err != nil {
				return err
			}
			return os.Remove(filepath.Join(o.dir, "data", "recovery-point-offset-checkpoint"))
		}},
		{fmt.Sprintf("clean stop, %d GiB of holes", o.large), func(n *node.Node) error {
			if err := t.stop(n); err != nil {
				return err
			}
			return enlarge(filepath.Join(o.dir, "data"), o.large)
		}},
		{"kill -9, the same holes", (*node.Node).Kill},
	}
	for _, s := range steps {
		if err := s.end(n); err != nil {
			return err
		}
		if n, err = node.RestartOttla(ctx, o.ottla, o.dir, o.wait); err != nil {
			return err
		}
		if err := t.note(s.name, n); err != nil {
			return err
		}
	}
	return n.Kill()
}

// stop stops a node in order, and notes how long that takes.
func (t *table) stop(n *node.Node) error {
	start := time.Now()
	err := n.StopWithin(t.o.wait)
	t.stopping = append(t.stopping, fmt.Sprintf("%.1f s", time.Since(start).Seconds()))
	return err
}

// fill makes topics and records.
func (t *table) fill(address string) error {
	f := load.Fill{
		Address: address, Topics: t.topics, Partitions: t.o.partitions / t.o.topics,
		Segments: t.o.segments, SizeBytes: t.o.size,
	}
	start := time.Now()
	if err := f.CreateAll(); err != nil {
		return err
	}
	t.create = time.Since(start)
	start = time.Now()
	if err := f.Write(); err != nil {
		return err
	}
	t.write = time.Since(start)
	return nil
}

// note waits until everything is led, and adds a row.
func (t *table) note(name string, n *node.Node) error {
	started := time.Now().Add(-n.StartTime)
	if err := load.AwaitLeaders(n.Address, t.topics, t.o.partitions/t.o.topics, t.o.wait); err != nil {
		_ = n.Kill() // The first error tells more.
		return err
	}
	r := row{name: name, answers: n.StartTime, led: time.Since(started)}
	u, err := proc.Read(n.Pid)
	if err != nil {
		return err
	}
	r.cpu, r.rss = u.CPU, u.RSS
	if r.files, err = proc.OpenFiles(n.Pid); err != nil {
		return err
	}
	if r.read, err = proc.ReadBytes(n.Pid); err != nil {
		return err
	}
	t.rows = append(t.rows, r)
	fmt.Fprintf(os.Stderr, "%s: %.2f s, %d MiB, %d files\n", r.name, r.led.Seconds(), r.rss>>20, r.files)
	return nil
}

// enlarge gives the first segment of some partitions a length of one gibibyte, without using the room.
func enlarge(data string, partitions int) error {
	dirs, err := filepath.Glob(filepath.Join(data, "startup-0-*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs[:min(len(dirs), partitions)] {
		if err := os.Truncate(filepath.Join(dir, strings.Repeat("0", 20)+".log"), 1<<30); err != nil {
			return err
		}
	}
	return nil
}
