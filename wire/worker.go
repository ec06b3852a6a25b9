package wire

import "sync"

// task is something a worker runs.
type task interface{ run() }

// taskFunc makes a task of a function.
type taskFunc func()

func (f taskFunc) run() { f() }

// maxIdleWorkers is how many goroutines are kept for reuse. Reusing one keeps its stack, which
// decoding and handling have grown.
const maxIdleWorkers = 256

// workers runs tasks on goroutines that are reused. How many run at once is bounded by the callers: a
// connection has at most one running its requests and one sending its replies, an event loop one that stands in for it.
type workers struct {
	mu      sync.Mutex
	idle    []chan task
	stopped bool
	all     sync.WaitGroup
}

// start runs t on a goroutine of its own. It reports false after halt.
func (w *workers) start(t task) bool {
	w.mu.Lock()
	if w.stopped {
		w.mu.Unlock()
		return false
	}
	if n := len(w.idle); n > 0 {
		// Last in, first out: the goroutine with the warmest stack.
		c := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		c <- t
		return true
	}
	w.all.Add(1)
	w.mu.Unlock()
	go w.work(t)
	return true
}

func (w *workers) work(t task) {
	defer w.all.Done()
	c := make(chan task, 1)
	for {
		t.run()
		w.mu.Lock()
		if w.stopped || len(w.idle) >= maxIdleWorkers {
			w.mu.Unlock()
			return
		}
		w.idle = append(w.idle, c)
		w.mu.Unlock()
		var ok bool
		if t, ok = <-c; !ok {
			return
		}
	}
}

// halt ends the idle goroutines, and the others after their tasks; nothing is started any more.
func (w *workers) halt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	for _, c := range w.idle {
		close(c)
	}
	w.idle = nil
}

// wait waits for all goroutines to end. Requires: halted.
func (w *workers) wait() { w.all.Wait() }
