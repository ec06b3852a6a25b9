package replica

import "testing"

// TestCachedPlan runs a plan that must not wait: while somebody appends to one of its partitions it gives up and holds
// nothing; then it finds what any run finds.
func TestCachedPlan(t *testing.T) {
	r := newRig(t)
	for _, topic := range []string{"a", "b"} {
		r.create(topic, 1, self)
		r.produce(topic, 1, "v")
	}
	plan := fetchPlan(1, "a", "b")
	plan.Cached = true
	p := r.partition("b")
	p.mu.Lock()
	if r.m.Fetch(plan) || !plan.Blocked {
		t.Errorf("blocked %t while b is locked", plan.Blocked)
	}
	p.mu.Unlock()
	if plan.Partitions[0].Records != nil {
		t.Error("a plan that gave up holds records")
	}
	if !r.m.Fetch(plan) || plan.Blocked {
		t.Errorf("blocked %t by nothing", plan.Blocked)
	}
	for i := range plan.Partitions {
		if fp := &plan.Partitions[i]; fp.Err != nil || fp.Records == nil || fp.HighWatermark != 1 {
			t.Errorf("%s: %+v", fp.Topic, fp)
		}
	}
	plan.Release()
}
