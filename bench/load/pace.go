package load

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pace is an endless series of due times, perSecond a second from start on. It doesn't drift, and what
// comes late doesn't move what comes later: a latency that counts from the due time has in it how long
// the record couldn't be sent, which a latency from the send hides (coordinated omission).
type pace struct {
	start     time.Time
	perSecond int64
}

// due is when the i-th of the series is due; the first is 0.
func (p pace) due(i int64) time.Time {
	return p.start.Add(time.Duration(i * int64(time.Second) / p.perSecond))
}

// dueBy is how many of the series are due at a time.
func (p pace) dueBy(now time.Time) int64 {
	d := int64(now.Sub(p.start))
	if d < 0 {
		return 0
	}
	// due(i) <= now is i*second/perSecond < d+1.
	return ((d+1)*p.perSecond + int64(time.Second) - 1) / int64(time.Second)
}

// take is how many of the series go into one request: all that are due, from the next one on, but one at
// least, at most most, and none at or behind total.
func (p pace) take(next, total, most int64, now time.Time) int64 {
	return min(max(p.dueBy(now)-next, 1), most, total-next)
}

// sleepUntil sleeps in the kernel: a timer of Go may come a millisecond late in a program that waits for
// sockets, which is longer than what is measured.
func sleepUntil(t time.Time) {
	for d := time.Until(t); d > 0; d = time.Until(t) {
		ts := unix.NsecToTimespec(int64(d))
		_ = unix.Nanosleep(&ts, nil) // A signal ends it early; the loop looks again.
	}
}

// flight is a request of paced that isn't answered: what it has of the series.
type flight struct{ first, took int64 }

// paced sends total of a series on one connection, each when it is due, and reads the answers. While
// depth requests are in flight nothing is sent; then what has become due meanwhile goes into one request, at
// most most of it. After until nothing is sent any more. frame makes a request, done looks at its answer. It returns the number of requests.
func paced(c *conn, p pace, total, most int64, until time.Time, depth int, frame func(f flight) []byte, done func(answer []byte, f flight) error) (requests int64, err error) {
	slots, flights, stop := make(chan struct{}, depth), make(chan flight, depth), make(chan struct{})
	var wg sync.WaitGroup
	var sendErr error
	wg.Go(func() {
		defer close(flights)
		runtime.LockOSThread() // It sleeps in the kernel.
		defer runtime.UnlockOSThread()
		for next, id := int64(0), uint32(0); next < total; id++ {
			sleepUntil(p.due(next))
			select {
			case slots <- struct{}{}:
			case <-stop:
				return
			}
			if time.Now().After(until) {
				return
			}
			f := flight{next, p.take(next, total, most, time.Now())}
			b := frame(f)
			setCorrelation(b, id)
			flights <- f // It has room for all that have a slot.
			if sendErr = c.send(b); sendErr != nil {
				c.Close() // Ends the wait for its answer.
				return
			}
			next += f.took
		}
	})
	for f := range flights {
		var answer []byte
		if answer, err = c.receive(uint32(requests)); err == nil {
			err = done(answer, f)
		}
		if err != nil {
			c.Close()
			break
		}
		requests++
		<-slots
	}
	close(stop)
	wg.Wait()
	return requests, errors.Join(err, sendErr) // Either closes the connection, and the other sees it.
}
