package commitlog

import "github.com/ottla/ottla/internal/vfs"

// Reserve says how many blocks of the disk are reserved for a segment before they are written, where the file system finds
// them one after the other otherwise (docs/decisions/0010). What isn't used is given back when the segment is rolled, the log is closed, or it
// is opened after a crash.
type Reserve struct {
	// FromBytes is the size from which on it is done; 0 is never.
	FromBytes int64
	// MinBytes and MaxBytes bound what is reserved at a time, which is an eighth of the segment's size.
	MinBytes, MaxBytes int64
}

// DefaultReserve costs small logs nothing and large ones an eighth of their active segment, 8 MiB at most.
func DefaultReserve() Reserve {
	return Reserve{FromBytes: 8 << 20, MinBytes: 1 << 20, MaxBytes: 8 << 20}
}

// cantReserve is segment.reserved where it has failed.
const cantReserve = -1

// affords says whether so many bytes may be reserved until free space is looked at again.
func (d *dir) affords(n int64) bool {
	return !d.cramped() && (d.room.floorless() || d.room.budget.Load() >= n)
}

// reserve reserves blocks behind an append that ends at end, unless they are. It is only to save work: without room, or where
// the file system can't, the append goes on without. Requires: l.mu held.
func (l *Log) reserve(cfg *settings, seg *segment, file vfs.File, end int64) {
	r, size := l.host.reserves(), seg.size.Load()
	if end <= seg.reserved || seg.reserved == cantReserve || r.FromBytes <= 0 || size < r.FromBytes || cfg.Preallocate {
		return
	}
	to := end + min(max(size/8, r.MinBytes), r.MaxBytes)
	to = max(end, min(to, int64(cfg.SegmentBytes)))
	from := max(size, seg.reserved)
	if !l.dir.affords(to - from) {
		return
	}
	if err := file.Reserve(from, to-from); err != nil {
		_ = file.Unreserve() // A part may have been.
		seg.reserved = cantReserve
		return
	}
	seg.reserved = to
	l.dir.spend(int(to - from))
}

// unpaid is how many bytes of an append to a segment weren't reserved, and so count as spent only now.
func (s *segment) unpaid(position int64, sizeBytes int) int {
	return int(max(position+int64(sizeBytes)-max(position, s.reserved), 0))
}

// unreserve gives back what was reserved and not used. If that fails it is blocks that are lost, until the next start, and nothing
// else. Requires: Log.mu held, or s not shared.
func (s *segment) unreserve(file vfs.File) {
	if s.reserved <= s.size.Load() || file.Unreserve() == nil {
		s.reserved = 0
	}
}

// giveBack gives back what is reserved for the log.
func (l *Log) giveBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.usable() != nil {
		return
	}
	seg := l.active()
	if file, ok := seg.log.HoldPinned(); ok { // Else nothing was appended.
		seg.unreserve(file)
		seg.log.Release()
	}
}
