package wire

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxPooledElements is the largest Produce or Fetch whose decoded form is kept for the next one: topics and partitions
// together. Larger ones are rare, and left to the collector.
const maxPooledElements = 1024

// bodies decodes Produce and Fetch, of which there are many, into memory of requests before.
type bodies struct{ produces, fetches sync.Pool }

// decode is decodeBody. put gives the request back once nobody reads it any more.
func (b *bodies) decode(key, version int16, body []byte) (kmsg.Request, error) {
	if key != keyProduce && key != keyFetch {
		return decodeBody(key, version, body)
	}
	if err := checkSize(key, version, body); err != nil {
		return nil, err
	}
	if key == keyProduce {
		req, _ := b.produces.Get().(*kmsg.ProduceRequest)
		if req == nil {
			req = &kmsg.ProduceRequest{}
		}
		req.Version = version
		if !readProduce(req, body) {
			return nil, errBodyShort
		}
		return req, nil
	}
	req, _ := b.fetches.Get().(*kmsg.FetchRequest)
	if req == nil {
		req = &kmsg.FetchRequest{}
	}
	req.Version = version
	if !readFetch(req, body) {
		return nil, errBodyShort
	}
	return req, nil
}

// put takes back a request of decode. What it borrows from its frame is let go.
func (b *bodies) put(req kmsg.Request) {
	switch req := req.(type) {
	case *kmsg.ProduceRequest:
		size := cap(req.Topics)
		for i := range req.Topics {
			clear(req.Topics[i].Partitions)
		}
		for _, t := range req.Topics[:cap(req.Topics)] {
			size += cap(t.Partitions)
		}
		if size <= maxPooledElements {
			b.produces.Put(req)
		}
	case *kmsg.FetchRequest:
		size := cap(req.Topics) + cap(req.ForgottenTopics)
		for _, t := range req.Topics[:cap(req.Topics)] {
			size += cap(t.Partitions)
		}
		for _, t := range req.ForgottenTopics[:cap(req.ForgottenTopics)] {
			size += cap(t.Partitions)
		}
		if size <= maxPooledElements {
			b.fetches.Put(req)
		}
	}
}
