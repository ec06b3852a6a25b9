// Package handlers answers Kafka requests: one file an API, registered in one table.
package handlers

import (
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleFunc answers one request; it completes it exactly once, now or later.
type handleFunc func(d *Deps, r *wire.Request)

// api is one row of the table. Its versions are those advertised by ApiVersions.
type api struct {
	key kmsg.Key
	// min and max are what is advertised; served from the lower of them, see minServed.
	min, max int16
	handle   handleFunc
}

// apis is the list of what is served on a broker listener, by key.
func apis() []api {
	return []api{}
}
