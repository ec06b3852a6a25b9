package controller

import (
	"sync"

	"github.com/ottla/ottla/controller/image"
)

// publishQueue bounds the changes that wait for slow subscribers; beyond it commits wait too.
const publishQueue = 256

// publisher calls subscribers in order, on its own goroutine. Until load is called changes are only
// remembered, so that subscribers don't see the past replayed.
type publisher struct {
	// subscribers is fixed once start was called.
	subscribers []Subscriber

	queue   chan *image.Delta
	stopped chan struct{}
	done    chan struct{}

	mu struct {
		sync.Mutex
		// moved is closed and replaced when offset changes or the publisher stops.
		moved chan struct{}
		// offset is that of the last image that all subscribers have seen; -1 before.
		offset int64
		ended  bool
	}
}

func newPublisher() *publisher {
	p := &publisher{
		queue:   make(chan *image.Delta, publishQueue),
		stopped: make(chan struct{}),
		done:    make(chan struct{}),
	}
	p.mu.moved = make(chan struct{})
	p.mu.offset = -1
	return p
}

func (p *publisher) subscribe(s Subscriber) { p.subscribers = append(p.subscribers, s) }

func (p *publisher) start() { go p.run() }

// stop drops what wasn't published and waits for the subscriber that is running.
func (p *publisher) stop() {
	close(p.stopped)
	<-p.done
}

// publish hands over a change; the caller keeps changes in order.
func (p *publisher) publish(d *image.Delta) {
	select {
	case p.queue <- d:
	case <-p.stopped:
	}
}

// load tells that what was handed over so far is the state at start; subscribers see it as one
// change.
func (p *publisher) load() { p.publish(nil) }

// wait returns true once all subscribers have seen the image at offset, false if that won't happen or giveUp is
// closed before; giveUp may be nil.
func (p *publisher) wait(offset int64, giveUp <-chan struct{}) bool {
	for {
		p.mu.Lock()
		seen, ended, moved := p.mu.offset, p.mu.ended, p.mu.moved
		p.mu.Unlock()
		if seen >= offset || ended {
			return seen >= offset
		}
		select {
		case <-moved:
		case <-giveUp:
			return false
		}
	}
}

// change edits what waiters look at.
func (p *publisher) change(edit func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	edit()
	close(p.mu.moved)
	p.mu.moved = make(chan struct{})
}

func (p *publisher) run() {
	defer close(p.done)
	defer p.change(func() { p.mu.ended = true })
	loaded, latest := false, image.Empty()
	for {
		select {
		case d := <-p.queue:
			switch {
			case d == nil && loaded:
				continue
			case d == nil:
				loaded = true
				d = image.Diff(image.Empty(), latest)
			case !loaded:
				latest = d.New
				continue
			}
			p.deliver(d)
		case <-p.stopped:
			return
		}
	}
}

func (p *publisher) deliver(d *image.Delta) {
	for _, s := range p.subscribers {
		s(d.Old, d.New, d)
	}
	p.change(func() { p.mu.offset = d.New.Offset() })
}
