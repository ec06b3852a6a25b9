package clean

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// hashBytes is how much of a key's hash is kept. Two keys with the same hash would cost one of them its
// record, so the hash must be one for which nobody can find such keys: SHA-256 cut to 128 bits, where
// Kafka takes MD5.
const hashBytes = 16

// slotBytes is the memory of one slot.
const slotBytes = hashBytes + 8

// slot is one key. next is the offset of its last record plus one; zero is a free slot.
type slot struct {
	hash [hashBytes]byte
	next int64
}

// OffsetMap says where each key was written last, in a table of fixed size: open addressing, nothing is
// removed. (Kafka: SkimpyOffsetMap.)
type OffsetMap struct {
	slots []slot
	// size is the number of keys. Invariant: size <= limit < len(slots).
	size, limit int
	latest      int64
}

// NewOffsetMap returns a map in at most memoryBytes, filled up to loadFactor, that has room for keys of
// them if that is less. At least one key fits.
func NewOffsetMap(memoryBytes int64, loadFactor float64, keys int64) *OffsetMap {
	if !(loadFactor > 0 && loadFactor <= 1) {
		loadFactor = 1
	}
	slots := max(memoryBytes/slotBytes, 2)
	if want := float64(max(keys, 1))/loadFactor + 2; want < float64(slots) {
		slots = int64(want)
	}
	limit := min(int(float64(slots)*loadFactor), int(slots)-1)
	return &OffsetMap{slots: make([]slot, slots), limit: max(limit, 1), latest: -1}
}

// find returns the slot that has the hash, or the free one where it goes.
func (m *OffsetMap) find(hash *[hashBytes]byte) *slot {
	// The high word of a product spreads over all slots without a division.
	i, _ := bits.Mul64(binary.LittleEndian.Uint64(hash[:]), uint64(len(m.slots)))
	for {
		s := &m.slots[i]
		if s.next == 0 || s.hash == *hash {
			return s
		}
		if i++; i == uint64(len(m.slots)) {
			i = 0
		}
	}
}

func hash(key []byte) [hashBytes]byte {
	sum := sha256.Sum256(key)
	return [hashBytes]byte(sum[:hashBytes])
}

// Put notes that key was written at offset, later than before. It reports false, and does nothing, if
// the map is full, even if it has the key.
func (m *OffsetMap) Put(key []byte, offset int64) bool {
	if m.size >= m.limit {
		return false
	}
	h := hash(key)
	s := m.find(&h)
	if s.next == 0 {
		s.hash = h
		m.size++
	}
	s.next = offset + 1
	m.latest = offset
	return true
}

// Get is the offset at which key was written last, -1 if the map doesn't have it.
func (m *OffsetMap) Get(key []byte) int64 {
	h := hash(key)
	return m.find(&h).next - 1
}

// Len is the number of keys.
func (m *OffsetMap) Len() int { return m.size }

// Latest is the last offset that the map accounts for, -1 if there is none.
func (m *OffsetMap) Latest() int64 { return m.latest }

// Extend says that up to offset nothing is missing from the map.
func (m *OffsetMap) Extend(offset int64) { m.latest = max(m.latest, offset) }
