package commitlog

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/vfs"
)

// MinFreeKey is the configuration key of the floor, which errors and log lines name.
const MinFreeKey = "log.dir.min.free.bytes"

// AutoMinFree is the value of ManagerConfig.MinFreeBytes that derives the floor from the device.
const AutoMinFree = -1

// The floor that AutoMinFree stands for: autoFloorBytes, or a part of the device where that is less.
const (
	autoFloorBytes = 1 << 30
	autoFloorPart  = 20
)

// roomInterval is how often free space is looked at. Appends that used up what the last look found
// look again at once.
const roomInterval = time.Second

// ErrNoRoom is what refusals for want of free space are, by errors.Is. They are KAFKA_STORAGE_ERROR to
// clients, nothing was changed, and the directory is not offline: trying again later helps.
var ErrNoRoom = errors.New("no room on the device")

// roomLevel is who may still append to the logs of a directory.
type roomLevel int32

const (
	// roomy: everybody.
	roomy roomLevel = iota
	// tight: free space is below the floor. Clients' records are refused; what coordinators and
	// replication append is taken.
	tight
	// critical: free space is below the reserve, a part of the floor that is left to checkpoints, the
	// cluster metadata and whatever else frees space. No log takes anything.
	critical
)

// reservePart is the part of the floor that only bookkeeping may use.
const reservePart = 4

// hysteresisPart is the part of a threshold by which free space must exceed it before it counts as
// passed again.
const hysteresisPart = 8

// budgetPart is the part of the floor that may be appended between two looks.
const budgetPart = 8

// floorOf is the floor on a device of the given size, in bytes; zero is none.
func floorOf(minFree, totalBytes int64) int64 {
	if minFree == AutoMinFree {
		return min(autoFloorBytes, totalBytes/autoFloorPart)
	}
	return minFree
}

// nextLevel is the level that follows on now with free bytes above a floor.
func nextLevel(now roomLevel, free, floor int64) roomLevel {
	below := func(threshold int64, was bool) bool {
		if was {
			threshold += threshold / hysteresisPart
		}
		return free < threshold
	}
	switch {
	case floor <= 0:
		return roomy
	case below(floor/reservePart, now >= critical):
		return critical
	case below(floor, now >= tight):
		return tight
	}
	return roomy
}

// room is what is known of the free space of a log directory.
type room struct {
	// minFree is log.dir.min.free.bytes, shared by all directories.
	minFree *atomic.Int64
	// level is a roomLevel; budget is how many bytes may be appended before the next look.
	level  atomic.Int32
	budget atomic.Int64
	// exhausted says that a write found no room at all, and free space hasn't grown since.
	exhausted atomic.Bool
	// tightened says that clients' appends are refused since a look that nobody has acted on yet.
	tightened atomic.Bool
	// refused says that a log couldn't be made since then, or for want of descriptors; OnRoom is owed.
	refused atomic.Bool

	mu sync.Mutex // guards what follows, and changes of level and exhausted
	// free and floor are of the last look; exhaustedAt is what was free when a write found no room.
	free, floor, exhaustedAt int64
}

// exhaustedGrowth is by how much free space must grow before an exhausted device counts as usable again.
const exhaustedGrowth = 1 << 20

// look takes free space in. A device that can't be asked changes nothing.
func (d *dir) look() {
	d.room.mu.Lock()
	defer d.room.mu.Unlock()
	d.lookLocked()
}

// lookLocked is look. Requires: d.room.mu held.
func (d *dir) lookLocked() {
	r := &d.room
	u, err := d.fs.Usage(d.path)
	if err != nil {
		return
	}
	r.free, r.floor = u.FreeBytes, floorOf(r.minFree.Load(), u.TotalBytes)
	was := roomLevel(r.level.Load())
	now := nextLevel(was, r.free, r.floor)
	threshold := r.floor
	if now != roomy {
		threshold = r.floor / reservePart
	}
	// Others write to the device as well: not all that is free is ours to spend before the next look.
	r.budget.Store(max(min(r.free-threshold, r.floor/budgetPart), 0))
	r.level.Store(int32(now))
	if was == roomy && now != roomy {
		r.tightened.Store(true)
		d.logger.Warn("log directory is short of free space: records of clients are refused, reads and deletion go on",
			"dir", d.path, "freeBytes", r.free, "floorBytes", r.floor, "key", MinFreeKey)
	}
	if was != roomy && now == roomy {
		d.logger.Info("log directory has enough free space again: records are taken", "dir", d.path,
			"freeBytes", r.free, "floorBytes", r.floor)
	}
	if r.exhausted.Load() && r.free >= r.exhaustedAt+exhaustedGrowth {
		r.exhausted.Store(false)
		if now == roomy && was == roomy {
			d.logger.Info("the device of a log directory has room again", "dir", d.path, "freeBytes", r.free)
		}
	}
}

// cramped says that space should be freed as soon as possible.
func (d *dir) cramped() bool {
	return roomLevel(d.room.level.Load()) != roomy || d.room.exhausted.Load()
}

// admit says whether records of an origin may be appended.
func (d *dir) admit(o Origin) error {
	level := roomLevel(d.room.level.Load())
	if level == roomy || level == tight && o != OriginClient {
		return nil
	}
	d.room.mu.Lock()
	defer d.room.mu.Unlock()
	free, floor := d.room.free, d.room.floor
	again := floor + floor/hysteresisPart
	return &kerror.Error{
		Kerr: kerr.KafkaStorageError,
		Message: fmt.Sprintf("Log directory %s has %d bytes of free space and fell below the floor of %d (%s); it takes records again once %d bytes are free.",
			d.path, free, floor, MinFreeKey, again),
		Cause: ErrNoRoom,
	}
}

// spend accounts for bytes that were appended or reserved, and looks at the device once they may have used up what was there.
func (d *dir) spend(n int) {
	if d.room.budget.Add(-int64(n)) >= 0 || d.room.floorless() || !d.room.mu.TryLock() {
		return
	}
	defer d.room.mu.Unlock()
	d.lookLocked()
}

// floorless says that there is no floor.
func (r *room) floorless() bool { return r.minFree.Load() == 0 }

// trouble deals with an error of a call that left everything as it was unless it says otherwise: want
// of room or descriptors is told and goes by, anything else takes the directory offline. It returns what clients see.
func (d *dir) trouble(err error) error {
	if offline := d.offline(); offline != nil {
		return storageError(offline)
	}
	if IsScarce(err) {
		return err // It was told.
	}
	if vfs.NoRoom(err) {
		return d.ranOut(err)
	}
	if vfs.NoDescriptors(err) {
		return d.descriptors.ranOut(d.path, err)
	}
	d.fail(err)
	return storageError(err)
}

// ranOut notes that a write found no room, and returns what clients see.
func (d *dir) ranOut(cause error) error {
	r := &d.room
	r.mu.Lock()
	defer r.mu.Unlock()
	d.lookLocked()
	if !r.exhausted.Swap(true) {
		r.exhaustedAt = r.free
		d.logger.Warn("a write to a log directory found no room; it was undone, and the directory stays in service", "dir", d.path,
			"freeBytes", r.free, "floorBytes", r.floor, "key", MinFreeKey, "error", cause)
	}
	r.exhaustedAt = min(r.exhaustedAt, r.free)
	return &kerror.Error{
		Kerr: kerr.KafkaStorageError,
		Message: fmt.Sprintf("The device of log directory %s is full (%d bytes of free space, floor by %s: %d); try again once there is room.",
			d.path, r.free, MinFreeKey, r.floor),
		Cause: fmt.Errorf("%w: %w", ErrNoRoom, cause),
	}
}

// SetMinFreeBytes changes log.dir.min.free.bytes, see ManagerConfig; it counts at once.
func (m *Manager) SetMinFreeBytes(n int64) {
	if m.minFree.Swap(n) != n {
		m.watchRoom()
	}
}

// watchRoom looks at the free space of all directories. Where it has become short reserved blocks are given back, and it doesn't
// wait for the next check of retention; where there is some again, and descriptors, logs that couldn't be made may be asked for.
func (m *Manager) watchRoom() {
	for _, d := range m.liveDirs() {
		d.look()
		if d.room.tightened.Swap(false) {
			logs := m.logsIn(d)
			for _, l := range append(m.futuresIn(d), logs...) {
				l.giveBack()
			}
			m.checkRetentionOf(logs)
		}
		if !d.room.exhausted.Load() && !m.descriptors.short.Load() && d.room.refused.Swap(false) && m.cfg.OnRoom != nil {
			m.calls.Go(m.cfg.OnRoom)
		}
	}
}
