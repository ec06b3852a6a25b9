package testcluster

import (
	"strings"
	"testing"
)

// good is a short history in which all is well, with the logs in its end.
func good() (*history, []replicaLog) {
	h := newHistory()
	h.try([]string{"a.1", "a.2", "b.1", "a.3"})
	h.acked(0, 1, 0, []string{"a.1", "a.2"}, true)
	h.acked(0, 2, 2, []string{"b.1"}, true)
	h.read(read{0, 0, "a.1", 1})
	h.read(read{0, 3, "a.3", 3})
	h.mark(mark{"c", term{0, 1}, 1, 2})
	h.mark(mark{"c", term{0, 1}, 1, 2})
	h.mark(mark{"c", term{0, 2}, 2, 1})
	h.leader(term{0, 1}, 1)
	h.leader(term{0, 2}, 2)
	h.commit(commitFetched, -1, 1)
	h.commit(commitSent, 5, 1)
	h.commit(commitAcked, 5, 1)
	h.commit(commitSent, 6, 1)
	h.commit(commitFetched, 6, 1)
	var logs []replicaLog
	for node := int32(1); node <= 3; node++ {
		logs = append(logs, replicaLog{0, node, []storedRecord{{0, 1, "a.1"}, {1, 1, "a.2"}, {2, 2, "b.1"}, {3, 2, "a.3"}}})
	}
	return h, logs
}

// TestCheck breaks each rule once, and expects it to be named.
func TestCheck(t *testing.T) {
	if h, logs := good(); len(h.check(logs)) > 0 {
		t.Fatalf("a good history: %v", h.check(logs))
	}
	for _, c := range []struct {
		name   string
		damage func(h *history, logs []replicaLog)
		want   string
	}{
		{"a record is gone everywhere", func(_ *history, l []replicaLog) {
			for i := range l {
				l[i].records = l[i].records[:1]
			}
		}, "lost: node 1 acknowledged a.2"},
		{"a record is gone on one replica", func(_ *history, l []replicaLog) { l[2].records = l[2].records[:3] }, "differs"},
		{"a replica has another epoch", func(_ *history, l []replicaLog) { l[1].records[3].epoch = 3 }, "differs"},
		{"another record took its place", func(h *history, _ []replicaLog) { h.acked(0, 2, 3, []string{"b.2"}, true) }, "lost: node 2 acknowledged b.2"},
		{"a record twice", func(h *history, l []replicaLog) {
			for i := range l {
				l[i].records = append(l[i].records, storedRecord{4, 2, "a.3"})
			}
		}, "twice"},
		{"out of order", func(h *history, l []replicaLog) {
			for i := range l {
				l[i].records = append(l[i].records, storedRecord{4, 2, "a.2"})
			}
		}, "out of order"},
		{"an invented record", func(_ *history, l []replicaLog) {
			for i := range l {
				l[i].records = append(l[i].records, storedRecord{4, 2, "x.9"})
			}
		}, "invented"},
		{"offsets that repeat", func(_ *history, l []replicaLog) {
			for i := range l {
				l[i].records[3].offset = 2
			}
		}, "has offset 2"},
		{"a read that didn't stay", func(h *history, _ []replicaLog) { h.read(read{0, 1, "b.7", 2}) }, "consumer read b.7"},
		{"a read beyond the end", func(h *history, _ []replicaLog) { h.read(read{0, 9, "a.9", 2}) }, "where nothing is stored"},
		{"the watermark goes back", func(h *history, _ []replicaLog) { h.mark(mark{"c", term{0, 2}, 2, 0}) }, "went back from 1"},
		{"two leaders told", func(h *history, _ []replicaLog) { h.leader(term{0, 2}, 3) }, "two leaders: metadata"},
		{"two leaders acknowledge", func(h *history, _ []replicaLog) { h.acked(0, 3, 3, []string{"a.3"}, true) }, "two leaders: nodes 2 and 3"},
		{"a commit is forgotten", func(h *history, _ []replicaLog) { h.commit(commitFetched, 5, 1) }, "the group has 5, where 6"},
		{"a late commit counts twice", func(h *history, _ []replicaLog) {
			h.commit(commitSent, 7, 1)
			h.commit(commitSent, 8, 1)
			h.commit(commitAcked, 8, 1)
			h.commit(commitFetched, 7, 1)
			h.commit(commitSent, 9, 1)
			h.commit(commitAcked, 9, 1)
			h.commit(commitFetched, 7, 1)
		}, "the group has 7, where 9"},
		{"a former coordinator makes a commit up", func(h *history, _ []replicaLog) { h.commit(commitFetched, 7, 2) }, "the group has 7"},
		{"a former coordinator is believed", func(h *history, _ []replicaLog) {
			h.commit(commitFetched, 5, 2)
			h.commit(commitFetched, 5, 1)
		}, "the group has 5, where 6"},
		{"a commit that nobody sent", func(h *history, _ []replicaLog) { h.commit(commitFetched, 7, 1) }, "the group has 7"},
	} {
		h, logs := good()
		c.damage(h, logs)
		if got := strings.Join(h.check(logs), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q in it", c.name, got, c.want)
		}
	}
}
