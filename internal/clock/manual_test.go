package clock

import (
	"slices"
	"testing"
	"time"
)

// TestManualRunsTimersInDeadlineOrder steps a Manual past several timers, one of which sets
// another on its way, and checks the order, the time each one saw, Stop and Reset.
func TestManualRunsTimersInDeadlineOrder(t *testing.T) {
	start := time.Unix(1000, 0)
	m := NewManual(start)
	var ran []string
	note := func(name string) func() {
		return func() { ran = append(ran, name+"@"+m.Now().Sub(start).String()) }
	}
	m.AfterFunc(3*time.Second, note("c"))
	m.AfterFunc(time.Second, func() {
		note("a")()
		m.AfterFunc(time.Second, note("b"))
	})
	stopped := m.AfterFunc(2*time.Second, note("never"))
	moved := m.AfterFunc(time.Second, note("moved"))
	if !stopped.Stop() || stopped.Stop() {
		t.Fatal("Stop must report true once")
	}
	if !moved.Reset(10 * time.Second) {
		t.Fatal("Reset of a pending timer must report true")
	}
	m.Advance(5 * time.Second)
	if want := []string{"a@1s", "b@2s", "c@3s"}; !slices.Equal(ran, want) {
		t.Fatalf("ran %v, want %v", ran, want)
	}
	m.Advance(5 * time.Second)
	if ran[len(ran)-1] != "moved@10s" {
		t.Fatalf("ran %v, want moved@10s last", ran)
	}
}
