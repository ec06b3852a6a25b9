package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// entry is a record as somebody saw it: the number that its producer gave it, at an offset.
type entry struct {
	offset, number int64
}

// history is what became known of one partition, which has one producer that numbers its records.
type history struct {
	partition int32

	mu sync.Mutex
	// acked are the acknowledged records in order of acknowledgement.
	acked []entry
	// failed are the numbers whose fate the producer wasn't told.
	failed map[int64]bool
	// read is what consumers saw, by offset.
	read map[int64]int64
	// lastAck is when the newest acknowledgement came; longest is the longest time without one since mark.
	lastAck time.Time
	longest time.Duration
	// violations are what was found wrong while running.
	violations []string
}

func newHistory(partition int32) *history {
	return &history{partition: partition, failed: map[int64]bool{}, read: map[int64]int64{}, lastAck: time.Now()}
}

func (h *history) violate(format string, args ...any) {
	h.violations = append(h.violations, fmt.Sprintf("partition %d: ", h.partition)+fmt.Sprintf(format, args...))
}

func (h *history) ack(offset, number int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.longest = max(h.longest, now.Sub(h.lastAck))
	h.lastAck = now
	h.acked = append(h.acked, entry{offset, number})
}

func (h *history) fail(number int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed[number] = true
}

// see notes what a consumer read. Offsets that were read before must hold the same.
func (h *history) see(offset, number int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if before, ok := h.read[offset]; ok && before != number {
		h.violate("a consumer read number %d at offset %d, where another had read %d", number, offset, before)
	}
	h.read[offset] = number
}

// mark starts measuring the longest time without an acknowledgement.
func (h *history) mark() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.longest, h.lastAck = 0, time.Now()
}

// gap is the longest time without an acknowledgement since mark, the running one included.
func (h *history) gap() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(h.longest, time.Since(h.lastAck))
}

// counts are how many records were acknowledged, had an unknown fate, and were read.
func (h *history) counts() (acked, failed, read int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.acked), len(h.failed), len(h.read)
}

// allRead tells whether consumers have read all that was acknowledged.
func (h *history) allRead() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.acked) - 1; i >= 0; i-- {
		if _, ok := h.read[h.acked[i].offset]; !ok {
			return false
		}
	}
	return true
}

// check compares what was seen with what the replicas store, and the replicas with each other. The cluster was
// healed and all replicas caught up before it was stopped.
func (h *history) check(replicas map[int][]entry) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var reference []entry
	for _, id := range slices.Sorted(maps.Keys(replicas)) {
		log := replicas[id]
		if reference == nil {
			reference = log
			h.checkLog(id, log)
			continue
		}
		if i := firstDifference(reference, log); i >= 0 {
			h.violate("the replica on node %d differs from the first one at record %d of %d and %d", id, i, len(log), len(reference))
		}
	}
	stored := make(map[int64]int64, len(reference))
	for _, e := range reference {
		stored[e.offset] = e.number
	}
	lost := 0
	for _, a := range h.acked {
		if n, ok := stored[a.offset]; !ok || n != a.number {
			if lost++; lost <= 3 {
				h.violate("number %d was acknowledged at offset %d, where the log has %d (present: %v)", a.number, a.offset, n, ok)
			}
		}
	}
	if lost > 3 {
		h.violate("%d acknowledged records are lost in all", lost)
	}
	for offset, number := range h.read {
		if n, ok := stored[offset]; !ok || n != number {
			h.violate("a consumer read number %d at offset %d, where the log has %d (present: %v)", number, offset, n, ok)
		}
	}
	return h.violations
}

// checkLog demands of one log that offsets and numbers grow, and that no number is missing whose fate was known.
func (h *history) checkLog(id int, log []entry) {
	last := entry{-1, -1}
	for _, e := range log {
		if e.offset <= last.offset {
			h.violate("node %d: offset %d after %d", id, e.offset, last.offset)
		}
		switch {
		case e.number <= last.number:
			h.violate("node %d: number %d at offset %d after %d: doubled or out of order", id, e.number, e.offset, last.number)
		default:
			for n := last.number + 1; n < e.number; n++ {
				if !h.failed[n] {
					h.violate("node %d: number %d is missing before offset %d", id, n, e.offset)
				}
			}
		}
		last = e
	}
}

func firstDifference(a, b []entry) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}
