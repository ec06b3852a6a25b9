package shard

import (
	"slices"
	"sync"

	"github.com/ottla/ottla/coordinator/machine"
)

// Directory holds the shards of one internal topic that this broker leads.
type Directory struct {
	cfg       *Config
	open      Open
	loadSlots chan struct{}

	mu sync.Mutex
	// shards are those that live; guarded by mu.
	shards map[int32]*Shard
	// ending are resigned ones that Close has to wait for; guarded by mu.
	ending map[*Shard]struct{}
	closed bool
}

// Open returns the log of a partition that this broker leads in leaderEpoch, and an empty machine
// for it.
type Open func(partition, leaderEpoch int32) (Log, machine.Machine, error)

// NewDirectory returns an empty directory.
func NewDirectory(cfg Config, open Open) *Directory {
	return &Directory{
		cfg: &cfg, open: open, loadSlots: make(chan struct{}, cfg.ConcurrentLoads),
		shards: map[int32]*Shard{}, ending: map[*Shard]struct{}{},
	}
}

// BecomeLeader starts to load the partition's shard for leaderEpoch. A shard of an older epoch is
// dropped; an epoch that isn't newer is ignored.
func (d *Directory) BecomeLeader(partition, leaderEpoch int32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errNotCoordinator(nil)
	}
	if old := d.shards[partition]; old != nil {
		if old.LeaderEpoch() >= leaderEpoch {
			return nil
		}
		d.endLocked(partition, old)
	}
	log, m, err := d.open(partition, leaderEpoch)
	if err != nil {
		return err
	}
	d.shards[partition] = New(d.cfg, partition, leaderEpoch, log, m, d.loadSlots)
	return nil
}

// Resign drops the partition's shard unless it is of a newer leader epoch than the one that ended.
func (d *Directory) Resign(partition, leaderEpoch int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.shards[partition]; s != nil && s.LeaderEpoch() <= leaderEpoch {
		d.endLocked(partition, s)
	}
}

// endLocked drops a shard. Requires: d.mu held.
func (d *Directory) endLocked(partition int32, s *Shard) {
	delete(d.shards, partition)
	d.ending[s] = struct{}{}
	s.Resign(nil)
	go func() {
		s.Wait()
		d.mu.Lock()
		delete(d.ending, s)
		d.mu.Unlock()
	}()
}

// Submit hands a request to the partition's shard; NOT_COORDINATOR if there is none here.
func (d *Directory) Submit(partition int32, req any, done Done) {
	if s := d.shard(partition); s != nil {
		s.Submit(req, done)
		return
	}
	done(nil, errNotCoordinator(nil))
}

// PostAll hands an event that nobody waits for to every shard.
func (d *Directory) PostAll(req any) {
	for _, p := range d.Partitions() {
		if s := d.shard(p); s != nil {
			s.Post(req)
		}
	}
}

// Partitions are the partitions with a shard, ascending.
func (d *Directory) Partitions() []int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]int32, 0, len(d.shards))
	for p := range d.shards {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}

// Close drops all shards and waits for them.
func (d *Directory) Close() {
	d.mu.Lock()
	d.closed = true
	for p, s := range d.shards {
		d.endLocked(p, s)
	}
	ending := make([]*Shard, 0, len(d.ending))
	for s := range d.ending {
		ending = append(ending, s)
	}
	d.mu.Unlock()
	for _, s := range ending {
		s.Wait()
	}
}

func (d *Directory) shard(partition int32) *Shard {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shards[partition]
}
