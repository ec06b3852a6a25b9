package controller

import (
	"bufio"
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"github.com/ottla/ottla/internal/clock"
)

// observers are the nodes that follow this one while it is the active controller: brokers, and controllers that
// don't vote.
type observers struct {
	c *Controller

	mu struct {
		sync.Mutex
		list map[*observer]struct{}
	}
}

// observer is one of them. offset, seen and caughtUp are guarded by observers.mu.
type observer struct {
	stream *stream
	id     identity
	// offset is the last one that it has applied, as far as it told; seen is when it did, caughtUp when
	// that was all there was.
	offset         int64
	seen, caughtUp time.Time
	// gone is closed when the observer's side ends.
	gone chan struct{}
}

// streamBatch is how many bytes of entries are written at a time.
const streamBatch = 256 << 10

func newObservers(c *Controller) *observers {
	o := &observers{c: c}
	o.mu.list = map[*observer]struct{}{}
	return o
}

// keepAlive is how often an observer of which nothing is heard is sent something; it gives a
// controller up that is silent for fetch.timeout.ms, five times as long.
func (c *Controller) keepAlive() time.Duration { return c.timeouts.contact }

// disconnect ends all streams: this node isn't the active controller any more.
func (o *observers) disconnect() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for x := range o.mu.list {
		go closeQuietly(x.stream) // Not under the lock.
	}
}

// serve feeds one observer until its stream ends.
func (o *observers) serve(st *stream, h hello) {
	defer closeQuietly(st)
	id, ok := parseIdentity(raft.ServerID(h.Server))
	if !ok {
		return
	}
	x := &observer{stream: st, id: id, offset: h.Offset, seen: o.c.now(), gone: make(chan struct{})}
	o.mu.Lock()
	o.mu.list[x] = struct{}{}
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		delete(o.mu.list, x)
		o.mu.Unlock()
	}()
	if _, active := o.c.active.get(); !active {
		return // Lost before it was listed.
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		o.acknowledged(x)
	}()
	o.feed(x)
	closeQuietly(st)
	<-read
}

// acknowledged reads what the observer tells of itself.
func (o *observers) acknowledged(x *observer) {
	defer close(x.gone)
	r := bufio.NewReaderSize(x.stream, 256)
	for {
		kind, body, err := readFrame(r, offsetSize)
		if err != nil || kind != frameApplied {
			return
		}
		offset, err := readOffset(body)
		if err != nil {
			return
		}
		now, newest := o.c.now(), o.c.Image().Offset()
		o.mu.Lock()
		x.offset, x.seen = offset, now
		if offset >= newest {
			x.caughtUp = now
		}
		o.mu.Unlock()
	}
}

// feed sends what the observer lacks, and then what comes. It ends where the observer is too slow: a write
// that isn't taken in time ends the stream, and one that has fallen behind what is kept starts again with a snapshot.
func (o *observers) feed(x *observer) {
	c, sent := o.c, x.offset
	tick := make(chan struct{}, 1)
	timer := c.cfg.Clock.AfterFunc(c.keepAlive(), func() {
		select {
		case tick <- struct{}{}:
		default:
		}
	})
	defer timer.Stop()
	late := newWriteGuard(c, x.stream)
	defer late.stop()
	var buf []byte
	first := true
	for {
		img := c.Image() // Before the feed is asked: that has all that img has, unless img has jumped.
		entries, moved, ok := c.feed.after(sent, streamBatch)
		switch {
		case first && sent > img.Offset():
			c.logger.Error("an observer has more metadata than was ever committed here", "server", x.id.serverID(), "offset", sent)
			return
		case !ok && !first && sent >= 0:
			c.logger.Info("an observer is too slow", "server", x.id.serverID(), "offset", sent)
			return
		case !ok || len(entries) == 0 && img.Offset() > sent:
			late.begin()
			w := &snapshotWriter{to: x.stream, sent: late.begin}
			if err := writeSnapshot(w, img); err != nil {
				return
			}
			if err := w.end(); err != nil {
				return
			}
			late.end()
			sent = img.Offset()
		case len(entries) > 0:
			buf = buf[:0]
			for _, e := range entries {
				buf = appendEntryFrame(buf, e)
				sent = e.last
			}
			if !late.write(buf) {
				return
			}
			if cap(buf) > 2*streamBatch {
				buf = nil
			}
		default:
			if first && !late.write(appendOffsetFrame(nil, frameAlive, sent)) {
				return
			}
			first = false
			select {
			case <-moved:
			case <-tick:
				if !late.write(appendOffsetFrame(nil, frameAlive, sent)) {
					return
				}
			case <-x.gone:
				return
			case <-c.dead:
				return
			}
			timer.Reset(c.keepAlive())
		}
	}
}

// writeGuard closes a stream whose other side doesn't take what is written.
type writeGuard struct {
	stream *stream
	timer  clock.Timer
	within time.Duration
}

func newWriteGuard(c *Controller, st *stream) *writeGuard {
	g := &writeGuard{stream: st, within: c.timeouts.silence()}
	g.timer = c.cfg.Clock.AfterFunc(g.within, func() { closeQuietly(st) })
	g.timer.Stop()
	return g
}

func (g *writeGuard) begin() { g.timer.Reset(g.within) }
func (g *writeGuard) end()   { g.timer.Stop() }
func (g *writeGuard) stop()  { g.timer.Stop() }

// write reports whether everything was taken.
func (g *writeGuard) write(b []byte) bool {
	g.begin()
	_, err := g.stream.Write(b)
	g.end()
	return err == nil
}

// silence is after how long a stream on which nothing moves is given up.
func (t timeouts) silence() time.Duration { return 5 * t.contact }

// snapshot copies the list, by node and directory; of a replica with several streams the newest counts.
func (o *observers) snapshot() []observer {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []observer
	for x := range o.mu.list {
		list = append(list, observer{id: x.id, offset: x.offset, seen: x.seen, caughtUp: x.caughtUp})
	}
	slices.SortFunc(list, func(a, b observer) int {
		return cmp.Or(cmp.Compare(a.id.node, b.id.node), slices.Compare(a.id.directory[:], b.id.directory[:]), b.seen.Compare(a.seen))
	})
	return slices.CompactFunc(list, func(a, b observer) bool { return a.id == b.id })
}
