package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// counts is what an application sees.
type counts struct {
	mu       sync.Mutex
	acked    map[string]int // by value
	read     map[string]int // by the group
	stored   map[string]int // by a last reader without a group
	errors   []string
	ready    bool
	callback int // calls of the group's rebalance listeners since the group was ready
	// killing is set while nodes are killed. franz-go gives up a commit or a join if the port of the node that it asks for a
	// coordinator is closed, with Kafka too, or if the coordinators that it is told were killed for 30 s. What it tells of that, and the
	// rebalances after it, are counted apart.
	killing           bool
	refused, rejoined int
}

func newCounts() *counts {
	return &counts{acked: map[string]int{}, read: map[string]int{}, stored: map[string]int{}}
}

func (c *counts) add(m map[string]int, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m[value]++
}

func (c *counts) error(what string, err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var eof *kgo.ErrFirstReadEOF
	if c.killing && (errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &eof) || errors.Is(err, kerr.NotCoordinator)) {
		c.refused++
		return
	}
	c.errors = append(c.errors, fmt.Sprintf("%s %s: %v", time.Now().Format(time.TimeOnly), what, err))
}

func (c *counts) rebalanced() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ready && c.killing:
		c.rejoined++
	case c.ready:
		c.callback++
		fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), "rebalance call")
	}
}

// size is how many values m has.
func (c *counts) size(m map[string]int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(m)
}

// report prints the line of counts and the verdict. behind is how many records lie between the group's commits and the ends.
func (c *counts) report(name string, behind int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lost, missed, doubled, again := 0, 0, 0, 0
	for v := range c.acked {
		if c.stored[v] == 0 {
			lost++
		}
		if c.read[v] == 0 {
			missed++
		}
	}
	for _, n := range c.stored {
		doubled += n - 1
	}
	for _, n := range c.read {
		again += n - 1
	}
	for _, e := range c.errors[:min(len(c.errors), 5)] {
		fmt.Printf("%s error: %s\n", name, e)
	}
	fmt.Printf("%s: %d acknowledged, %d lost, %d doubled; the group read %d, missed %d, read %d again, is %d behind; %d rebalance calls; %d errors\n",
		name, len(c.acked), lost, doubled, len(c.read), missed, again, behind, c.callback, len(c.errors))
	fmt.Printf("%s: while nodes were killed, %d refused connections reached the application and %d rebalance calls followed\n", name, c.refused, c.rejoined)
	if c.refused == 0 {
		c.callback += c.rejoined // Nothing made the members leave.
	}
	if lost+missed+doubled+again+c.callback+len(c.errors) > 0 || behind != 0 || len(c.acked) == 0 {
		fmt.Printf("FAIL %s\n", name)
		return
	}
	fmt.Printf("PASS %s\n", name)
}
