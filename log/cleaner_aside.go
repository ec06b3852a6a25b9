package commitlog

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Uncleanable is a partition that compaction has set aside until the next start, because its log isn't what a
// log may be. It is still read and written. (Kafka: LogCleanerManager.markPartitionUncleanable.)
type Uncleanable struct {
	Topic     string
	Partition int32
	// Dir is the log directory it is in.
	Dir string
	// Err is why; mostly a *CorruptError with file and position.
	Err error
	// Since is when it was set aside.
	Since time.Time
	// Bytes is what a compaction would have to read (Kafka's uncleanable-bytes), as of now.
	Bytes int64
}

// Uncleanable lists the partitions that compaction has set aside, by directory, topic and partition. How many
// there are of a directory is Kafka's metric uncleanable-partitions-count.
func (m *Manager) Uncleanable() []Uncleanable {
	logs := m.Logs()
	c := &m.cleaner
	c.mu.Lock()
	c.forget(logs)
	out := make([]Uncleanable, 0, len(c.aside))
	for l, u := range c.aside {
		u.Bytes = l.SizeBytes()
		out = append(out, u)
	}
	c.mu.Unlock()
	slices.SortFunc(out, func(a, b Uncleanable) int {
		return cmp.Or(cmp.Compare(a.Dir, b.Dir), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return out
}

// forget drops logs that are gone from aside and cramped. Requires: c.mu held.
func (c *cleaner) forget(logs []*Log) {
	if len(c.aside)+len(c.cramped) == 0 {
		return
	}
	there := make(map[*Log]struct{}, len(logs))
	for _, l := range logs {
		there[l] = struct{}{}
	}
	maps.DeleteFunc(c.aside, func(l *Log, _ Uncleanable) bool {
		_, ok := there[l]
		return !ok
	})
	maps.DeleteFunc(c.cramped, func(l *Log, _ struct{}) bool {
		_, ok := there[l]
		return !ok
	})
}

// setAside takes a log out of compaction. Requires: c.mu held.
func (c *cleaner) setAside(l *Log, err error) {
	if l.usable() != nil {
		return
	}
	c.aside[l] = Uncleanable{
		Topic: l.tp.topic, Partition: l.tp.partition, Dir: l.dir.path, Err: err, Since: c.m.clk.Now(),
	}
	c.m.logger.Error("setting a partition aside: it is not compacted any more, others are",
		"partition", l.tp.String(), "dir", l.dir.path, "uncleanable", len(c.aside), "error", err)
}
