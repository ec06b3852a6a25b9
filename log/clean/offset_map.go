package clean

import (
	"encoding/binary"
	"math/bits"
)

// slotBytes is the memory of one slot.
const slotBytes = 24

// slot is one key. next is the offset of its last record plus one; zero is a free slot.
type slot struct {
	hash hash
	next int64
}

// supersededShare is the part of the memory that the superseded bits may take: 1/32.
const supersededShare = 32

// Sizes of the regions of a table, in slots.
const (
	// minRegionSlots is that of the smallest region where there are several; a region fits a processor's cache.
	minRegionSlots = 4096
	firstSlots     = 64
)

// OffsetMap says where each key was written last, in a table of bounded size. (Kafka: SkimpyOffsetMap.)
//
// The table consists of regions, chosen by the hash. Each is a table with open addressing of its own which uses
// only its first slots, and more as it fills: memory that few keys don't need is never touched.
// Nothing is removed.
//
// Of the first records that were put the map also knows by offset whether their key was written again, so
// that they are judged without their hash.
type OffsetMap struct {
	key   hashKey
	slots []slot
	// regionSlots is the size of a region, regionShift what a hash's first word is shifted by to choose one.
	regionSlots uint64
	regionShift uint
	regions     []region
	// scratch has the slots of a region that grows.
	scratch []slot
	// size is the number of keys. Invariant: size <= limit.
	size, limit int
	latest      int64
	// superseded has a bit for each offset from first on: set once a later record has the same key.
	superseded []uint64
	first      int64
}

// region is a part of the table.
type region struct {
	// inUse are the slots in use, keys those that aren't free. Invariant: keys < inUse <= regionSlots.
	inUse, keys uint64
}

// NewOffsetMap returns a map in at most memoryBytes, filled up to loadFactor, for records at the offsets from
// first to before end; it takes less memory if those are few. At least one key fits. secret makes its
// hashes ones that can't be foreseen: it must be random, and a new one for each map.
func NewOffsetMap(memoryBytes int64, loadFactor float64, first, end int64, secret [16]byte) *OffsetMap {
	if !(loadFactor > 0 && loadFactor <= 1) {
		loadFactor = 1
	}
	keys := max(end-first, 1)
	words := min(memoryBytes/supersededShare/8, (keys+63)/64)
	slots := max((memoryBytes-8*words)/slotBytes, 2)
	if want := float64(keys)/loadFactor + 2; want < float64(slots) {
		slots = int64(want)
	}
	limit := min(int(float64(slots)*loadFactor), int(slots)-1)
	regionBits := max(bits.Len64(uint64(slots)/minRegionSlots)-1, 0)
	m := &OffsetMap{
		key:         hashKey{binary.LittleEndian.Uint64(secret[:]), binary.LittleEndian.Uint64(secret[8:])},
		regionSlots: uint64(slots) >> regionBits, regionShift: 64 - uint(regionBits), regions: make([]region, 1<<regionBits),
		limit: max(limit, 1), latest: -1, superseded: make([]uint64, words), first: first,
	}
	m.slots = make([]slot, m.regionSlots<<regionBits)
	for i := range m.regions {
		m.regions[i].inUse = min(firstSlots, m.regionSlots)
	}
	return m
}

// place returns the region of a hash and the slot where the search for it begins: the high word of a product spreads
// over all slots without a division.
func (m *OffsetMap) place(h hash) (r *region, base, home uint64) {
	i := h.h0 >> m.regionShift
	r = &m.regions[i]
	home, _ = bits.Mul64(h.h1, r.inUse)
	return r, i * m.regionSlots, home
}

// find returns the slot that has the hash, or the free one where it goes.
func (m *OffsetMap) find(h hash) (*region, *slot) {
	r, base, i := m.place(h)
	in := m.slots[base : base+r.inUse]
	for {
		s := &in[i]
		if s.next == 0 || s.hash == h {
			return r, s
		}
		if i++; i == uint64(len(in)) {
			i = 0
		}
	}
}

// grow doubles the slots in use of a hash's region, if it has any left.
func (m *OffsetMap) grow(h hash) {
	r, base, _ := m.place(h)
	in := m.slots[base : base+r.inUse]
	m.scratch = append(m.scratch[:0], in...)
	clear(in)
	r.inUse = min(2*r.inUse, m.regionSlots)
	for _, s := range m.scratch {
		if s.next != 0 {
			_, to := m.find(s.hash)
			*to = s
		}
	}
}

// Put notes that key was written at offset, later than before. It reports false, and does nothing, if
// the map is full, even if it has the key.
func (m *OffsetMap) Put(key []byte, offset int64) bool { return m.put(m.key.sum(key), offset) }

func (m *OffsetMap) put(h hash, offset int64) bool {
	if m.size >= m.limit {
		return false
	}
	r, s := m.find(h)
	if s.next != 0 {
		if before := s.next - 1; before < offset {
			m.supersede(before)
		}
	} else {
		if r.keys+r.keys/3 >= r.inUse && r.inUse < m.regionSlots {
			m.grow(h)
			_, s = m.find(h)
		}
		if r.keys+1 >= r.inUse {
			return false // The one free slot ends searches.
		}
		s.hash = h
		r.keys++
		m.size++
	}
	s.next = offset + 1
	m.latest = offset
	return true
}

// supersede notes that the record at offset isn't the last one of its key.
func (m *OffsetMap) supersede(offset int64) {
	if bit := uint64(offset - m.first); bit/64 < uint64(len(m.superseded)) {
		m.superseded[bit/64] |= 1 << (bit % 64)
	}
}

// knows says whether superseded has a bit for offset.
func (m *OffsetMap) knows(offset int64) bool {
	return uint64(offset-m.first)/64 < uint64(len(m.superseded))
}

// isSuperseded says whether the record at offset was put, and another with its key after it. Requires: knows.
func (m *OffsetMap) isSuperseded(offset int64) bool {
	bit := uint64(offset - m.first)
	return m.superseded[bit/64]>>(bit%64)&1 != 0
}

// IsLast says whether no record after offset that was put has key.
func (m *OffsetMap) IsLast(key []byte, offset int64) bool {
	if m.knows(offset) {
		return !m.isSuperseded(offset)
	}
	return offset >= m.Get(key)
}

// Get is the offset at which key was written last, -1 if the map doesn't have it.
func (m *OffsetMap) Get(key []byte) int64 { return m.get(m.key.sum(key)) }

func (m *OffsetMap) get(h hash) int64 {
	_, s := m.find(h)
	return s.next - 1
}

// touch reads the slots of hashes in advance, so that several reads from memory run at once. The sum means
// nothing: it keeps the compiler from leaving the reads out.
func (m *OffsetMap) touch(hashes []hash) (sum int64) {
	for i := range hashes {
		_, base, home := m.place(hashes[i])
		sum += m.slots[base+home].next
	}
	return sum
}

// Len is the number of keys.
func (m *OffsetMap) Len() int { return m.size }

// Latest is the last offset that the map accounts for, -1 if there is none.
func (m *OffsetMap) Latest() int64 { return m.latest }

// Extend says that up to offset nothing is missing from the map.
func (m *OffsetMap) Extend(offset int64) { m.latest = max(m.latest, offset) }
