package main

import "runtime"

// spareProcessors gives Go's scheduler twice the processors that the process may use, and returns how many it may.
//
// A thread that waits in epoll holds one of Go's processors without using one of the machine's, until Go's monitor takes
// it away. The monitor does so, waking every 20 µs, only where no processor is idle. There is always one now: each event loop can
// hold one, and what runs finds another. GOMAXPROCS goes before it.
func spareProcessors(getenv func(string) string) (usable int) {
	usable = runtime.GOMAXPROCS(0)
	if getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(2 * usable)
	}
	return usable
}
