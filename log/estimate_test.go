package commitlog

import (
	"testing"
	"time"
)

// TestEstimator: the speed is that of the samples at hand, and nothing is said where there is none.
func TestEstimator(t *testing.T) {
	start := time.UnixMilli(0)
	for _, c := range []struct {
		name  string
		done  []int64 // one sample a second
		total int64
		want  time.Duration
		known bool
	}{
		{"no sample", nil, 100, 0, false},
		{"one sample", []int64{50}, 100, 0, false},
		{"even", []int64{0, 10, 20}, 100, 8 * time.Second, true},
		{"from the middle", []int64{40, 50}, 100, 5 * time.Second, true},
		{"stuck", []int64{10, 10, 10}, 100, 0, false},
		{"done", []int64{10, 100}, 100, 0, true},
		{"more than was thought", []int64{10, 120}, 100, 0, true},
		{"a quick beginning is forgotten", []int64{0, 1000, 2000, 2001, 2002, 2003, 2004, 2005, 2006, 2007, 2008, 2009, 2010, 2011, 2012, 2013},
			2023, 10 * time.Second, true},
		{"for ever", []int64{0, 1}, 1 << 62, 0, false},
	} {
		var e estimator
		for i, done := range c.done {
			e.add(start.Add(time.Duration(i)*time.Second), done)
		}
		if got, known := e.remaining(c.total); got != c.want || known != c.known {
			t.Errorf("%s: %v, %t, want %v, %t", c.name, got, known, c.want, c.known)
		}
	}
}
