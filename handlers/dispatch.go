package handlers

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/ottla/ottla/wire"
)

// Dispatcher hands each request to its API's handler; it is the wire.Handler of a broker listener.
type Dispatcher struct {
	deps *Deps
	// rows is indexed by API key; rows without a handler aren't served.
	rows []dispatchRow
}

type dispatchRow struct {
	handle handleFunc
	// min and max are the versions served.
	min, max int16
	place    wire.Place
	stats    apiStats
}

// apiStats counts the requests of one API.
type apiStats struct{ requests, panics atomic.Uint64 }

// APIStats is a copy of one API's counters.
type APIStats struct {
	Key  int16
	Name string
	// Requests is how many were handled, Panics how many of them ended in a bug.
	Requests, Panics uint64
}

// New returns the dispatcher of the APIs in the table. It takes deps.
func New(deps Deps) *Dispatcher { return newDispatcher(&deps, apis()) }

func newDispatcher(d *Deps, table []api) *Dispatcher {
	d.fetchSessions = newFetchSessions(d.Random)
	d.producerIDs = newProducerIDs(d)
	d.apiVersions = newAPIVersionsTable(table)
	d.produces, d.fetches = &producePool{}, &fetchPool{}
	h := &Dispatcher{deps: d}
	for _, a := range table {
		key := a.key.Int16()
		for int(key) >= len(h.rows) {
			h.rows = append(h.rows, dispatchRow{})
		}
		row := &h.rows[key]
		row.handle, row.min, row.max, row.place = a.handle, a.min, a.max, a.place
		if known, ok := wire.LookupAPI(key); ok {
			row.min = max(row.min, known.Min)
		}
	}
	return h
}

// Supports says whether an API is served in a version; it is for wire.Config.
func (h *Dispatcher) Supports(_ string, key, version int16) bool {
	row := h.row(key)
	return row != nil && version >= row.min && version <= row.max
}

// Place says where requests of an API may run; it is for wire.Config.
func (h *Dispatcher) Place(key int16) wire.Place {
	if row := h.row(key); row != nil {
		return row.place
	}
	return wire.OnWorker
}

func (h *Dispatcher) row(key int16) *dispatchRow {
	if key < 0 || int(key) >= len(h.rows) || h.rows[key].handle == nil {
		return nil
	}
	return &h.rows[key]
}

// ServeRequest implements wire.Handler.
func (h *Dispatcher) ServeRequest(r *wire.Request) {
	row := h.row(r.Key)
	if row == nil || r.Version < row.min || r.Version > row.max {
		r.Close(fmt.Errorf("%s version %d is not served here", wire.APIName(r.Key), r.Version))
		return
	}
	row.stats.requests.Add(1)
	defer func() {
		if p := recover(); p != nil {
			row.stats.panics.Add(1)
			h.deps.closeAfterPanic(r, p)
		}
	}()
	row.handle(h.deps, r)
}

// errBug closes the connection of a request that a handler panicked on.
var errBug = errors.New("internal error")

// closeAfterPanic logs a panic and closes the request's connection: not all APIs have a field for
// an error of the whole request, and a client that loses its connection knows what to do. Handlers
// complete a request as their last step, so that it isn't completed twice.
func (d *Deps) closeAfterPanic(r *wire.Request, p any) {
	d.Logger.Error("handler panicked", "api", wire.APIName(r.Key), "version", r.Version, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	r.Close(errBug)
}

// guard is deferred where a request goes on on a goroutine of its own.
func (d *Deps) guard(r *wire.Request) {
	if p := recover(); p != nil {
		d.closeAfterPanic(r, p)
	}
}

// Stats are the counters of all APIs, by key.
func (h *Dispatcher) Stats() []APIStats {
	var list []APIStats
	for key := range h.rows {
		if row := &h.rows[key]; row.handle != nil {
			list = append(list, APIStats{Key: int16(key), Name: wire.APIName(int16(key)),
				Requests: row.stats.requests.Load(), Panics: row.stats.panics.Load()})
		}
	}
	return list
}
