package commitlog

import "time"

// estimator tells how long some work still takes, by its speed in the last few samples: work on a warm page
// cache is many times faster than what comes after it.
//
// The zero value is empty. It belongs to one goroutine.
type estimator struct{ samples []sample }

// sample says how much work was done at a time, in any unit that stands for equal effort.
type sample struct {
	at   time.Time
	done int64
}

// estimateSamples is how many samples an estimate looks back.
const estimateSamples = 12

// add notes how much was done by now. It never becomes less.
func (e *estimator) add(now time.Time, done int64) {
	if len(e.samples) == estimateSamples {
		e.samples = append(e.samples[:0], e.samples[1:]...)
	}
	e.samples = append(e.samples, sample{now, done})
}

// remaining estimates how long it takes from the last sample until total is done; false if that can't be said,
// because nothing has been done between the samples.
func (e *estimator) remaining(total int64) (time.Duration, bool) {
	if len(e.samples) < 2 {
		return 0, false
	}
	first, last := e.samples[0], e.samples[len(e.samples)-1]
	left := max(total-last.done, 0)
	if left == 0 {
		return 0, true
	}
	done, took := last.done-first.done, last.at.Sub(first.at)
	if done <= 0 || took <= 0 {
		return 0, false
	}
	const longest = 1 << 62 // Beyond it a Duration ends.
	if d := float64(took) * (float64(left) / float64(done)); d < longest {
		return time.Duration(d), true
	}
	return 0, false
}
