package handlers

import (
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/wire"
)

// Without an authorizer every operation that a resource knows is allowed; these are the bits.
const (
	// allTopicOperations is READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS.
	allTopicOperations = 3576
	// allClusterOperations is CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS,
	// IDEMPOTENT_WRITE.
	allClusterOperations = 8096
)

// reach is where the client of a request reaches a broker: the broker's endpoint of the listener that
// the request came in by. A listener of this broker without a configured address is reached where the
// client has reached it. False for a fenced broker and for one without that listener.
func (d *Deps) reach(r *wire.Request, b *image.Broker) (host string, port int32, ok bool) {
	if b == nil || b.Fenced {
		return "", 0, false
	}
	at, ok := b.Listener(r.Session.Listener)
	if !ok {
		return "", 0, false
	}
	host = at.Host
	if local := r.Session.LocalAddr.Addr().Unmap(); b.ID == d.NodeID && local.IsValid() {
		for _, a := range d.Configs.Broker().Endpoints.Advertised {
			if a.Name == r.Session.Listener && a.Auto {
				host = local.WithZone("").String()
			}
		}
	}
	return host, int32(at.Port), true
}

// controllerFor is the broker that clients are told to take for the controller. Brokers hand requests on, so any
// that is alive will do; this one saves a connection. -1 if none is.
func (d *Deps) controllerFor(r *wire.Request, img *image.Image) int32 {
	if _, _, ok := d.reach(r, img.Broker(d.NodeID)); ok {
		return d.NodeID
	}
	for _, b := range img.Brokers() {
		if _, _, ok := d.reach(r, b); ok {
			return b.ID
		}
	}
	return -1
}

// offline lists the replicas that aren't on a live broker with that listener, or are in a directory that the
// broker lost (KIP-858).
func (d *Deps) offline(r *wire.Request, img *image.Image, p *image.Partition) []int32 {
	var out []int32
	for i, id := range p.Replicas {
		b := img.Broker(id)
		if _, _, ok := d.reach(r, b); !ok || !b.HasOnlineDir(p.Directories[i]) {
			out = append(out, id)
		}
	}
	return out
}

// online lists the others.
func (d *Deps) online(r *wire.Request, img *image.Image, replicas []int32) []int32 {
	out := make([]int32, 0, len(replicas))
	for _, id := range replicas {
		if _, _, ok := d.reach(r, img.Broker(id)); ok {
			out = append(out, id)
		}
	}
	return out
}
