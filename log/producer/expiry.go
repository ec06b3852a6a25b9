package producer

import (
	"cmp"
	"slices"
)

// Expire forgets producers that were silent for Config.ExpirationMs and have no open
// transaction, and questions to the coordinator as old. It returns how many producers.
func (s *State) Expire(nowMs int64) int {
	n := 0
	for id, e := range s.producers {
		if s.expired(&e, nowMs) {
			delete(s.producers, id)
			n++
		}
	}
	for id, v := range s.verifications {
		if nowMs-v.startedAtMs >= s.cfg.ExpirationMs {
			delete(s.verifications, id)
		}
	}
	return n
}

// expired tells whether a producer is to be forgotten.
func (s *State) expired(e *entry, nowMs int64) bool {
	return e.txnFirstOffset == noOffset && nowMs-e.lastTimestamp >= s.cfg.ExpirationMs
}

// evictFraction of the producers are forgotten at once, so that the search for the most silent
// ones is paid for by many batches.
const evictFraction = 64

// evict forgets the producers silent for longest, though not those with a transaction, nor
// keep. The choice depends on the state alone, so that replay makes the same.
func (s *State) evict(keep int64) {
	type candidate struct{ timestamp, id int64 }
	candidates := make([]candidate, 0, len(s.producers))
	for id, e := range s.producers {
		if e.txnFirstOffset == noOffset && id != keep {
			candidates = append(candidates, candidate{e.lastTimestamp, id})
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.timestamp, b.timestamp), cmp.Compare(a.id, b.id))
	})
	for _, c := range candidates[:min(len(candidates), max(1, s.cfg.MaxProducers/evictFraction))] {
		delete(s.producers, c.id)
	}
}
