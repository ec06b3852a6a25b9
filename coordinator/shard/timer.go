package shard

import (
	"container/heap"
	"time"

	"github.com/ottla/ottla/coordinator/machine"
)

// timers is the set of a machine's timers, ordered by deadline; equal deadlines in the order they
// were set in. Used on the shard's loop only.
type timers struct {
	byKey map[machine.TimerKey]*timer
	queue timerQueue
	// set counts settings, to order equal deadlines.
	set uint64
}

type timer struct {
	key   machine.TimerKey
	at    time.Time
	seq   uint64
	index int
}

// apply sets or cancels one timer.
func (t *timers) apply(c machine.Timer, now time.Time) {
	old := t.byKey[c.Key]
	if c.Cancel {
		if old != nil {
			heap.Remove(&t.queue, old.index)
			delete(t.byKey, c.Key)
		}
		return
	}
	t.set++
	if old != nil {
		old.at, old.seq = now.Add(c.After), t.set
		heap.Fix(&t.queue, old.index)
		return
	}
	if t.byKey == nil {
		t.byKey = map[machine.TimerKey]*timer{}
	}
	x := &timer{key: c.Key, at: now.Add(c.After), seq: t.set}
	t.byKey[c.Key] = x
	heap.Push(&t.queue, x)
}

// next is the earliest deadline; false if there is none.
func (t *timers) next() (time.Time, bool) {
	if len(t.queue) == 0 {
		return time.Time{}, false
	}
	return t.queue[0].at, true
}

// pop removes the earliest timer if it has run out at now.
func (t *timers) pop(now time.Time) (machine.TimerKey, bool) {
	if len(t.queue) == 0 || t.queue[0].at.After(now) {
		return machine.TimerKey{}, false
	}
	x := heap.Pop(&t.queue).(*timer)
	delete(t.byKey, x.key)
	return x.key, true
}

// timerQueue implements heap.Interface.
type timerQueue []*timer

func (q timerQueue) Len() int { return len(q) }
func (q timerQueue) Less(i, j int) bool {
	if !q[i].at.Equal(q[j].at) {
		return q[i].at.Before(q[j].at)
	}
	return q[i].seq < q[j].seq
}

func (q timerQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}
func (q *timerQueue) Push(x any) {
	t := x.(*timer)
	t.index = len(*q)
	*q = append(*q, t)
}
func (q *timerQueue) Pop() any {
	old := *q
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return t
}
