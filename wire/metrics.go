package wire

import "sync/atomic"

// Metrics counts what a server does; anyone may read it at any time.
type Metrics struct {
	// Connections is the number of open connections, Accepted and Rejected count them since start.
	Connections        atomic.Int64
	Accepted, Rejected atomic.Int64
	// AcceptErrors counts failed accepts and hand-overs, such as for lack of descriptors.
	AcceptErrors atomic.Int64
	// BytesIn and BytesOut count bytes read from and written to clients.
	BytesIn, BytesOut atomic.Int64
	// Disconnects counts connections that were closed because of what the client sent.
	Disconnects atomic.Int64
	// IdleCloses counts connections closed by connections.max.idle.ms.
	IdleCloses atomic.Int64
	// BudgetWaits counts how often a connection had to wait for memory.
	BudgetWaits atomic.Int64
	requests    [maxAPIKey + 1]atomic.Int64
}

// Requests is the number of requests of an API that were handed to the handler.
func (m *Metrics) Requests(key int16) int64 {
	if key < 0 || key > maxAPIKey {
		return 0
	}
	return m.requests[key].Load()
}
