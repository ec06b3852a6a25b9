package handlers

import (
	"slices"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/wire"
)

// topicName is the name of the topic with that id in an image; false if there is none.
func topicName(img *image.Image, id [16]byte) (string, bool) {
	if t := img.TopicByID(id); t != nil {
		return t.Name, true
	}
	return "", false
}

// leaderHint is who leads a partition, for clients that asked the wrong broker (KIP-951).
type leaderHint struct {
	id, epoch int32
}

// noLeaderHint is the default of the protocol's fields.
var noLeaderHint = leaderHint{id: -1, epoch: -1}

// leaderOf is the leader that the metadata knows of.
func leaderOf(img *image.Image, topic string, partition int32) leaderHint {
	if p := img.Partition(topic, partition); p != nil && p.Leader != image.NoLeader {
		return leaderHint{id: p.Leader, epoch: p.LeaderEpoch}
	}
	return noLeaderHint
}

// endpoint is where clients of a listener reach a broker.
type endpoint struct {
	id   int32
	host string
	port int32
	rack *string
}

// endpoints collects the brokers named in hints, each once.
type endpoints []endpoint

// add adds a broker, unless it is listed or the client of the request can't reach it.
func (e *endpoints) add(d *Deps, r *wire.Request, img *image.Image, id int32) {
	if id < 0 || slices.ContainsFunc(*e, func(x endpoint) bool { return x.id == id }) {
		return
	}
	b := img.Broker(id)
	if host, port, ok := d.reach(r, b); ok {
		*e = append(*e, endpoint{id: id, host: host, port: port, rack: b.Rack})
	}
}
