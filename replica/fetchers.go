package replica

import (
	"hash/fnv"
	"sync"
)

// fetchers is what follows the leaders: some fetchers for each leader that there is something to follow
// of. Partitions are spread over a leader's fetchers by their names.
type fetchers struct {
	m *Manager

	mu sync.Mutex
	// The rest is guarded by mu.
	perLeader int
	running   map[fetcherID]*fetcher
	of        map[*Partition]*fetcher
	closed    bool
	ended     sync.WaitGroup
}

type fetcherID struct {
	leader int32
	index  int
}

func newFetchers(m *Manager) *fetchers {
	return &fetchers{m: m, perLeader: max(m.cfg.Replication.Fetchers, 1), running: make(map[fetcherID]*fetcher), of: make(map[*Partition]*fetcher)}
}

// follow has p fetched from its leader as f says, and from nobody else.
func (fs *fetchers) follow(p *Partition, f following) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed || fs.m.cfg.Peers == nil {
		return
	}
	id := fs.fetcherOf(p, f.leader)
	if old := fs.of[p]; old != nil && old.id != id {
		fs.leave(p, old)
	}
	to := fs.running[id]
	if to == nil {
		to = newFetcher(fs.m, id)
		fs.running[id] = to
		fs.start(to)
	}
	fs.of[p] = to
	to.add(p, f)
}

// unfollow ends fetching of p. A fetch that is under way is dropped when it comes: see Partition.follows.
func (fs *fetchers) unfollow(p *Partition) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if old := fs.of[p]; old != nil {
		fs.leave(p, old)
	}
}

// leave takes p from a fetcher, and ends the fetcher that has nothing left. Requires: fs.mu held.
func (fs *fetchers) leave(p *Partition, from *fetcher) {
	delete(fs.of, p)
	if from.remove(p) == 0 {
		delete(fs.running, from.id)
		from.cancel()
	}
}

// fetcherOf says which fetcher of a leader has p. Requires: fs.mu held.
func (fs *fetchers) fetcherOf(p *Partition, leader int32) fetcherID {
	h := fnv.New32a()
	h.Write([]byte(p.topic))
	return fetcherID{leader: leader, index: int((h.Sum32()*31 + uint32(p.index)) % uint32(fs.perLeader))}
}

// start runs a fetcher. Requires: fs.mu held.
func (fs *fetchers) start(f *fetcher) {
	if fs.m.stepped {
		return
	}
	fs.ended.Go(f.run)
}

// resize changes the number of fetchers a leader, and moves the partitions among them.
func (fs *fetchers) resize(perLeader int) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if perLeader < 1 || perLeader == fs.perLeader || fs.closed {
		return
	}
	fs.perLeader = perLeader
	type move struct {
		p *Partition
		f following
	}
	var moves []move
	for p, old := range fs.of {
		if f, ok := old.following(p); ok {
			moves = append(moves, move{p, f})
		}
	}
	for _, v := range moves {
		old, id := fs.of[v.p], fs.fetcherOf(v.p, v.f.leader)
		if old.id == id {
			continue
		}
		fs.leave(v.p, old)
		to := fs.running[id]
		if to == nil {
			to = newFetcher(fs.m, id)
			fs.running[id] = to
			fs.start(to)
		}
		fs.of[v.p] = to
		to.add(v.p, v.f)
	}
}

// wake has every fetcher look at what it may do.
func (fs *fetchers) wake() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.running {
		f.signal()
	}
}

func (fs *fetchers) count() (running, partitions int) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.running), len(fs.of)
}

// close ends all fetchers and waits for them.
func (fs *fetchers) close() {
	fs.mu.Lock()
	fs.closed = true
	for _, f := range fs.running {
		f.cancel()
	}
	clear(fs.running)
	clear(fs.of)
	fs.mu.Unlock()
	fs.ended.Wait()
}
