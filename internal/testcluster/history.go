package testcluster

import "sync"

// history is what clients were told in a run, and what was stored in the end. Positions in it are offsets;
// values name the producer and its number and are unique.
type history struct {
	mu sync.Mutex
	// acks are acknowledged records, in no order; tried are those that may or may not be stored.
	acks  []ack
	tried map[string]bool
	// reads are what consumers got.
	reads []read
	// marks are the high watermarks that a client was told, in the order in which it asked.
	marks []mark
	// leaders are what Metadata said.
	leaders map[term]map[int32]bool
	// commits are what happened to the group's offsets, in order: one client does all of it.
	commits []commit
}

// term is a leadership of a partition.
type term struct{ partition, epoch int32 }

// ack is an acknowledged record.
type ack struct {
	partition int32
	offset    int64
	value     string
	// node is who acknowledged it; first says that nobody else was asked before, so that it is who appended it.
	node  int32
	first bool
}

// read is a record that a consumer got from a node.
type read struct {
	partition int32
	offset    int64
	value     string
	node      int32
}

// mark is a high watermark that a client was told by a leader.
type mark struct {
	client    string
	at        term
	node      int32
	watermark int64
}

// commitKind is what was done to the group's offset.
type commitKind int8

const (
	// commitSent: it may be stored from now on. commitAcked: it is. commitFetched: the coordinator told it.
	commitSent commitKind = iota
	commitAcked
	commitFetched
)

// commit is a step in the life of a group's committed offset; -1 is none.
type commit struct {
	kind   commitKind
	offset int64
	// node is the coordinator that was asked.
	node int32
}

// storedRecord is a record in a replica.
type storedRecord struct {
	offset int64
	epoch  int32
	value  string
}

// replicaLog is what one node stores of a partition in the end.
type replicaLog struct {
	partition, node int32
	records         []storedRecord
}

func newHistory() *history {
	return &history{tried: map[string]bool{}, leaders: map[term]map[int32]bool{}}
}

func (h *history) try(values []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, v := range values {
		h.tried[v] = true
	}
}

func (h *history) acked(partition, node int32, base int64, values []string, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, v := range values {
		h.acks = append(h.acks, ack{partition, base + int64(i), v, node, first})
	}
}

func (h *history) read(r read) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads = append(h.reads, r)
}

func (h *history) mark(m mark) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.marks = append(h.marks, m)
}

func (h *history) leader(t term, node int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leaders[t] == nil {
		h.leaders[t] = map[int32]bool{}
	}
	h.leaders[t][node] = true
}

func (h *history) commit(kind commitKind, offset int64, node int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commits = append(h.commits, commit{kind, offset, node})
}

// numAcked is how many records were acknowledged so far.
func (h *history) numAcked() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.acks)
}
