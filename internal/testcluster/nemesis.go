package testcluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ottla/ottla/controller/image"
)

// nemesis makes trouble: what, to whom and for how long is drawn from the seed. It is the cluster's one
// director while it runs.
//
// It keeps to what the promise allows. While a node may have lost what it had, and isn't in sync again, no other one
// crashes, and while one that crashed isn't in sync again, no other one loses anything: the cluster can't tell a
// process that was killed from a machine that lost its memory, and takes the word of neither (KIP-966). Nodes that lose
// nothing may crash as they like. One disk at most is replaced in a run, since a majority of the controllers must
// keep theirs.
type nemesis struct {
	cluster *cluster
	rng     *rand.Rand
	// clients are the hosts of the clients.
	clients []string
	// ends are what is to be undone, and when.
	ends  []faultEnd
	wiped bool
	count map[string]int
}

type faultEnd struct {
	at   time.Time
	undo func()
}

// fault is a kind of trouble; weight is how often it is chosen. It returns false if it can't be made now.
type fault struct {
	name   string
	weight int
	make   func(m *nemesis) bool
}

var faults = []fault{
	{"kill", 14, func(m *nemesis) bool { return m.crash(killed) }},
	{"power loss", 16, func(m *nemesis) bool { return m.crash(powerLoss) }},
	{"disk lost", 3, func(m *nemesis) bool { return m.crash(wiped) }},
	{"restart", 6, (*nemesis).restart},
	{"isolate", 12, (*nemesis).isolate},
	{"isolate from nodes", 12, (*nemesis).isolateFromNodes},
	{"one-way cut", 10, (*nemesis).oneWay},
	{"cut between two", 8, (*nemesis).cutPair},
	{"reset connections", 8, (*nemesis).resets},
	{"late requests", 10, (*nemesis).late},
	{"clock jump", 6, (*nemesis).clockJump},
	{"slow network", 5, (*nemesis).slow},
}

// run makes trouble for some time.
func (m *nemesis) run(length time.Duration) {
	end := time.Now().Add(length)
	for time.Now().Before(end) && !m.cluster.failed() {
		m.strike()
		most := 4 * time.Second
		if m.rng.IntN(3) == 0 {
			most = 200 * time.Millisecond // One trouble on top of the other.
		}
		m.wait(m.between(0, most))
	}
	m.heal()
}

// strike makes one fault.
func (m *nemesis) strike() {
	total := 0
	for _, f := range faults {
		total += f.weight
	}
	for {
		x := m.rng.IntN(total)
		for _, f := range faults {
			if x -= f.weight; x >= 0 {
				continue
			}
			if f.make(m) {
				m.count[f.name]++
				return
			}
			break
		}
	}
}

// wait lets time pass, and ends the faults that are due.
func (m *nemesis) wait(d time.Duration) {
	end := time.Now().Add(d)
	for {
		next := end
		for _, e := range m.ends {
			if e.at.Before(next) {
				next = e.at
			}
		}
		time.Sleep(time.Until(next))
		now := time.Now()
		var due []faultEnd
		m.ends = slices.DeleteFunc(m.ends, func(e faultEnd) bool {
			if e.at.After(now) {
				return false
			}
			due = append(due, e)
			return true
		})
		for _, e := range due {
			e.undo()
		}
		for _, n := range m.cluster.nodes {
			if n.crashed && n.inSync() {
				n.crashed, n.forgot = false, false
				m.cluster.events.add(n.name, "is in sync again")
			}
		}
		if !now.Before(end) {
			return
		}
	}
}

// heal ends all trouble.
func (m *nemesis) heal() {
	m.cluster.events.add("nemesis", "heals everything")
	for len(m.ends) > 0 {
		e := m.ends[0]
		m.ends = m.ends[1:]
		e.undo()
	}
	for _, n := range m.cluster.nodes {
		if !n.up {
			m.revive(n)
		}
	}
	m.cluster.network.setWeather(calm)
}

// calm is a good day.
var calm = weather{min: 50 * time.Microsecond, max: 5 * time.Millisecond}

func (m *nemesis) between(least, most time.Duration) time.Duration {
	return least + time.Duration(m.rng.Int64N(int64(most-least)))
}

// duration is how long a fault lasts: mostly short, beside the timeouts.
func (m *nemesis) duration() time.Duration {
	if m.rng.IntN(3) == 0 {
		return m.between(2*time.Second, 9*time.Second)
	}
	return m.between(10*time.Millisecond, 2*time.Second)
}

// until ends a fault after a while.
func (m *nemesis) until(undo func()) {
	m.ends = append(m.ends, faultEnd{time.Now().Add(m.duration()), undo})
}

// newest is the newest image of any node that serves; nil if none does.
func (m *nemesis) newest() *image.Image {
	var img *image.Image
	for _, n := range m.cluster.nodes {
		if n.serving() && (img == nil || n.server.Image().Offset() > img.Offset()) {
			img = n.server.Image()
		}
	}
	return img
}

// victim is a node: any one, or the leader of a partition.
func (m *nemesis) victim() *node {
	if img := m.newest(); img != nil && m.rng.IntN(2) == 0 {
		if p := img.Partition(topic, 0); p != nil && p.Leader > 0 {
			return m.cluster.nodes[p.Leader-1]
		}
	}
	return m.cluster.nodes[m.rng.IntN(len(m.cluster.nodes))]
}

func (m *nemesis) crash(how crash) bool {
	n := m.victim()
	if !n.up || how == wiped && m.wiped {
		return false
	}
	for _, other := range m.cluster.nodes {
		if other != n && (other.forgot || other.crashed && how != killed) {
			return false
		}
	}
	m.cluster.events.add("nemesis", "%s: %s", n.name, [...]string{"killed", "power loss", "disk lost"}[how])
	m.wiped = m.wiped || how == wiped
	n.crash(how, m.rng)
	m.until(func() { m.revive(n) })
	return true
}

// revive starts a node that is down, once its former life has ended in every respect.
func (m *nemesis) revive(n *node) {
	if n.up {
		return
	}
	<-n.ended
	n.start()
}

func (m *nemesis) restart() bool {
	n := m.victim()
	if !n.serving() {
		return false
	}
	m.cluster.events.add("nemesis", "%s: orderly stop", n.name)
	n.shutdown()
	m.until(func() { m.revive(n) })
	return true
}

// cut cuts links for a while.
func (m *nemesis) cut(links []link, format string, args ...any) bool {
	text := fmt.Sprintf(format, args...)
	m.cluster.events.add("nemesis", "%s", text)
	m.cluster.network.cut(links...)
	m.until(func() {
		m.cluster.events.add("nemesis", "ended: %s", text)
		m.cluster.network.mend(links...)
	})
	return true
}

// others are all nodes but n.
func (m *nemesis) others(n *node) (names []string) {
	for _, o := range m.cluster.nodes {
		if o != n {
			names = append(names, o.name)
		}
	}
	return names
}

func both(a string, others []string) (links []link) {
	for _, b := range others {
		links = append(links, link{a, b}, link{b, a})
	}
	return links
}

// isolate cuts a node off from everybody; as a process that is stopped, it goes on later with what was on its
// way.
func (m *nemesis) isolate() bool {
	n := m.victim()
	return m.cut(both(n.name, append(m.others(n), m.clients...)), "%s hears and is heard by nobody", n.name)
}

func (m *nemesis) isolateFromNodes() bool {
	n := m.victim()
	return m.cut(both(n.name, m.others(n)), "%s is cut off from the nodes", n.name)
}

func (m *nemesis) oneWay() bool {
	n := m.victim()
	others := m.others(n)
	if m.rng.IntN(2) == 0 {
		others = others[m.rng.IntN(len(others)):][:1]
	}
	in := m.rng.IntN(2) == 0
	var links []link
	for _, o := range others {
		if in {
			links = append(links, link{o, n.name})
		} else {
			links = append(links, link{n.name, o})
		}
	}
	if in {
		return m.cut(links, "%s doesn't hear %v", n.name, others)
	}
	return m.cut(links, "%s isn't heard by %v", n.name, others)
}

func (m *nemesis) cutPair() bool {
	n := m.victim()
	others := m.others(n)
	o := others[m.rng.IntN(len(others))]
	return m.cut(both(n.name, []string{o}), "%s and %s are cut off from each other", n.name, o)
}

func (m *nemesis) resets() bool {
	percent := 10 + m.rng.IntN(90)
	m.cluster.events.add("nemesis", "resets %d connections", m.cluster.network.resetSome(m.rng, percent))
	return true
}

func (m *nemesis) late() bool {
	most := m.between(500*time.Millisecond, 8*time.Second)
	m.cluster.events.add("nemesis", "stalls and then ends %d connections, up to %v", m.cluster.network.lateSome(m.rng, 20+m.rng.IntN(80), most), most.Round(time.Millisecond))
	return true
}

func (m *nemesis) clockJump() bool {
	n := m.victim()
	d := m.between(-2*time.Second, 20*time.Second)
	m.cluster.events.add("nemesis", "%s: the clock jumps by %v", n.name, d.Round(time.Millisecond))
	n.clock.jump(d)
	return true
}

func (m *nemesis) slow() bool {
	w := weather{min: 100 * time.Microsecond, max: m.between(10*time.Millisecond, 400*time.Millisecond), stallOneIn: 20 + m.rng.IntN(500), stall: 6 * time.Second}
	m.cluster.events.add("nemesis", "writes take up to %v, one in %d stalls", w.max.Round(time.Millisecond), w.stallOneIn)
	m.cluster.network.setWeather(w)
	m.until(func() {
		m.cluster.events.add("nemesis", "the network is fast again")
		m.cluster.network.setWeather(calm)
	})
	return true
}
