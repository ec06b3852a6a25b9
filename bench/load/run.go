package load

import (
	"errors"
	"sync"
	"time"
)

// exchange runs one connection: it keeps depth requests in flight until total were sent. prepare
// makes the next frame ready; done looks at its answer and may count into the result.
func exchange(c *conn, depth int, total int64, prepare func(id uint32) []byte, done func(answer []byte, r *Result) error) (Result, error) {
	r := Result{latencies: make([]time.Duration, 0, total)}
	sentAt := make([]time.Time, depth)
	var sent, received int64
	for received < total {
		for sent < total && sent-received < int64(depth) {
			sentAt[sent%int64(depth)] = time.Now()
			if err := c.send(prepare(uint32(sent))); err != nil {
				return r, err
			}
			sent++
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
