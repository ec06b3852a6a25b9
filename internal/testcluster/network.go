package testcluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// network connects hosts in memory. Bytes of one connection arrive whole and in order, as TCP has it, each
// write after a latency of its own, so that requests of different connections overtake each other. Every
// wait in it is a durable one (testing/synctest): time may pass meanwhile.
//
// What may go wrong: a link is cut, one way or both (what is on its way arrives after the cut ends, as what
// TCP sends again does); a connection is reset, and what is on its way is lost; one connection stalls while
// others go on; who dialled is told that a connection is gone, and what it sent before arrives later; a host dies,
// with or without a word to those it is connected with.
type network struct {
	seed uint64

	mu sync.Mutex
	// The rest is guarded by mu.
	hosts map[string]*host
	conns []*pair
	// cuts counts the reasons for which a link, from a host to another, carries nothing.
	cuts map[link]int
	// healed is closed, and replaced, when a cut ends or a host listens.
	healed chan struct{}
	// weather is how slow the network is.
	weather weather
	dialled map[link]int
}

type link struct{ from, to string }

// weather is the latency of writes: between min and max; each stalls, one in stallOneIn, for up to stall.
type weather struct {
	min, max   time.Duration
	stallOneIn int
	stall      time.Duration
}

// host is a place that connections come from and go to.
type host struct {
	name      string
	listeners map[string]*listener
	// silent says that the host is without power: nobody is told that nothing is there.
	silent bool
}

func newNetwork(seed uint64) *network {
	return &network{seed: seed, hosts: map[string]*host{}, cuts: map[link]int{}, healed: make(chan struct{}), dialled: map[link]int{}}
}

// host returns the host of a name. Requires: n.mu held.
func (n *network) host(name string) *host {
	h := n.hosts[name]
	if h == nil {
		h = &host{name: name, listeners: map[string]*listener{}}
		n.hosts[name] = h
	}
	return h
}

// listener opens listeners at name:port, as long as life isn't dead.
func (n *network) listener(life *life) func(address string) (net.Listener, error) {
	return func(address string) (net.Listener, error) { return n.listen(address, life) }
}

func (n *network) listen(address string, life *life) (net.Listener, error) {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if life.dead.Load() {
		return nil, errDead
	}
	h := n.host(name)
	if h.listeners[address] != nil {
		return nil, fmt.Errorf("listen %s: %w", address, syscall.EADDRINUSE)
	}
	l := &listener{network: n, host: h, address: address}
	l.changed.L = &n.mu
	h.listeners[address], h.silent = l, false
	n.wake()
	return l, nil
}

// wake has those look again who wait for a host. Requires: n.mu held.
func (n *network) wake() {
	close(n.healed)
	n.healed = make(chan struct{})
}

// dialer connects from a host, as long as life isn't dead; nil is for clients, which live for ever.
func (n *network) dialer(from string, l *life) func(ctx context.Context, address string) (net.Conn, error) {
	return func(ctx context.Context, address string) (net.Conn, error) { return n.dial(ctx, from, address, l) }
}

func (n *network) dial(ctx context.Context, from, address string, life *life) (net.Conn, error) {
	to, _, _ := strings.Cut(address, ":")
	n.mu.Lock()
	at := link{from, to}
	n.dialled[at]++
	rng := rand.New(rand.NewPCG(n.seed, hash(from, to, n.dialled[at])))
	latency := n.latency(rng)
	for n.cuts[at] > 0 || n.cuts[link{to, from}] > 0 || n.host(to).silent {
		healed := n.healed
		n.mu.Unlock()
		select {
		case <-healed:
		case <-ctx.Done():
			return nil, fmt.Errorf("dial %s: %w", address, context.Cause(ctx))
		}
		n.mu.Lock()
	}
	n.mu.Unlock()
	if !sleep(ctx, latency) {
		return nil, fmt.Errorf("dial %s: %w", address, context.Cause(ctx))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.host(to).listeners[address]
	if life != nil && life.dead.Load() {
		return nil, errDead
	}
	if l == nil {
		return nil, fmt.Errorf("dial %s: %w", address, syscall.ECONNREFUSED)
	}
	p := &pair{network: n}
	p.ends[0] = &conn{pair: p, in: newHalf(p, link{to, from}, rng.Uint64()), local: addr(from + ":0"), remote: addr(address)}
	p.ends[1] = &conn{pair: p, in: newHalf(p, at, rng.Uint64()), local: addr(address), remote: addr(from + ":0")}
	p.ends[0].out, p.ends[1].out = p.ends[1].in, p.ends[0].in
	n.conns = append(n.conns, p)
	l.waiting = append(l.waiting, p.ends[1])
	l.changed.Broadcast()
	return p.ends[0], nil
}

// latency draws the delay of a write. Requires: n.mu held.
func (n *network) latency(rng *rand.Rand) time.Duration {
	w := &n.weather
	d := w.min
	if w.max > w.min {
		// Mostly near the minimum.
		f := rng.Float64()
		d += time.Duration(f * f * f * float64(w.max-w.min))
	}
	if w.stallOneIn > 0 && rng.IntN(w.stallOneIn) == 0 {
		d += time.Duration(rng.Int64N(int64(w.stall)))
	}
	return d
}

// setWeather changes the latency of writes from now on.
func (n *network) setWeather(w weather) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.weather = w
}

// cut stops links; each cut is to be ended by a mend of the same links.
func (n *network) cut(links ...link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range links {
		n.cuts[l]++
	}
}

// mend ends a cut.
func (n *network) mend(links ...link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range links {
		n.cuts[l]--
	}
	n.wake()
	for _, p := range n.conns {
		for _, e := range p.ends {
			e.in.changed.Broadcast()
		}
	}
}

// resetSome ends connections at once, each with the given chance in a hundred.
func (n *network) resetSome(rng *rand.Rand, percent int) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range slices.Clone(n.conns) {
		if rng.IntN(100) < percent {
			p.reset()
			count++
		}
	}
	return count
}

// lateSome stalls what is sent to those who accepted connections, each with the given chance in a hundred, for up to
// most; within half of that the dialling side is told that the connection is gone. It may ask again elsewhere, and
// what it asked first arrives after that.
func (n *network) lateSome(rng *rand.Rand, percent int, most time.Duration) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.conns {
		if rng.IntN(100) >= percent {
			continue
		}
		count++
		stall := time.Duration(rng.Int64N(int64(most)))
		in := p.ends[1].in
		if at := time.Now().Add(stall); at.After(in.last) {
			in.last = at
		}
		time.AfterFunc(time.Duration(rng.Int64N(int64(stall)/2+1)), func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			e := p.ends[0]
			if e.closed || e.in.broken {
				return
			}
			e.in.broken, e.in.queue = true, nil
			e.in.changed.Broadcast()
			e.out.send(n, chunk{eof: true})
		})
	}
	return count
}

// kill ends all that a host has open. A silent one is without power: the other ends of its connections hear
// of it when the host is there again.
func (n *network) kill(name string, silent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.host(name)
	for _, l := range h.listeners {
		l.close()
	}
	h.silent = silent
	for _, p := range slices.Clone(n.conns) {
		for i, e := range p.ends {
			if hostOf(e.local) != name {
				continue
			}
			if silent {
				e.closed = true
				e.in.changed.Broadcast()
				p.orphan = name
			} else {
				p.ends[i].shut()
			}
		}
	}
}

// revive tells the other ends of connections that died silently. Called when a host starts again.
func (n *network) revive(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host(name).silent = false
	for _, p := range slices.Clone(n.conns) {
		if p.orphan == name {
			p.reset()
		}
	}
	n.wake()
}

// listener accepts connections; it implements net.Listener.
type listener struct {
	network *network
	host    *host
	address string
	// The rest is guarded by network.mu.
	changed sync.Cond
	waiting []*conn
	closed  bool
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	for !l.closed && len(l.waiting) == 0 {
		l.changed.Wait()
	}
	if l.closed {
		return nil, net.ErrClosed
	}
	c := l.waiting[0]
	l.waiting = l.waiting[1:]
	return c, nil
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	l.close()
	return nil
}

// close ends the listener. Requires: network.mu held.
func (l *listener) close() {
	if l.closed {
		return
	}
	l.closed = true
	if l.host.listeners[l.address] == l {
		delete(l.host.listeners, l.address)
	}
	for _, c := range l.waiting {
		c.pair.reset()
	}
	l.changed.Broadcast()
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return addr(l.address) }

// addr is a net.Addr.
type addr string

// Network implements net.Addr.
func (addr) Network() string { return "memory" }

// String implements net.Addr.
func (a addr) String() string { return string(a) }

func hostOf(a net.Addr) string {
	name, _, _ := strings.Cut(a.String(), ":")
	return name
}

// hash mixes what names a connection into a seed.
func hash(from, to string, count int) uint64 {
	h := uint64(14695981039346656037)
	for _, s := range []string{from, ">", to} {
		for _, c := range []byte(s) {
			h = (h ^ uint64(c)) * 1099511628211
		}
	}
	return (h ^ uint64(count)) * 1099511628211
}

// sleep waits for d; it reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
