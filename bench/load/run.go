package load

import (
	"errors"
	"sync"
	"time"
)

// quota says how much is sent: so many requests, or as many as there is time for, at least one.
type quota struct {
	total int64
	until time.Time // zero for none
}

// more says whether another request is to be sent after so many.
func (q quota) more(sent int64, now time.Time) bool {
	if q.until.IsZero() {
		return sent < q.total
	}
	return sent == 0 || now.Before(q.until)
}

// exchange runs one connection: it keeps depth requests in flight until the quota is sent. prepare
// makes the next frame ready; done looks at its answer and may count into the result.
func exchange(c *conn, depth int, q quota, prepare func(id uint32) []byte, done func(answer []byte, r *Result) error) (Result, error) {
	r := Result{latencies: make([]time.Duration, 0, q.total)}
	sentAt := make([]time.Time, depth)
	var sent, received int64
	for {
		for sent-received < int64(depth) {
			now := time.Now()
			if !q.more(sent, now) {
				break
			}
			sentAt[sent%int64(depth)] = now
			if err := c.send(prepare(uint32(sent))); err != nil {
				return r, err
			}
			sent++
		}
		if sent == received {
			break
		}
		answer, err := c.receive(uint32(received))
		if err != nil {
			return r, err
		}
		r.latencies = append(r.latencies, time.Since(sentAt[received%int64(depth)]))
		if err := done(answer, &r); err != nil {
			return r, err
		}
		received++
	}
	r.Requests = received
	return r, nil
}

// spread runs n connections side by side and adds their results up. Connecting isn't counted.
func spread(address string, n int, run func(i int, c *conn) (Result, error)) (Result, error) {
	conns := make([]*conn, 0, n)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for range n {
		c, err := dial(address)
		if err != nil {
			return Result{}, err
		}
		conns = append(conns, c)
	}
	results, errs := make([]Result, n), make([]error, n)
	start := time.Now()
	var wg sync.WaitGroup
	for i, c := range conns {
		wg.Go(func() { results[i], errs[i] = run(i, c) })
	}
	wg.Wait()
	return merge(results, time.Since(start)), errors.Join(errs...)
}
