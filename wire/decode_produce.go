package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// Versions that change a Produce request.
const (
	produceFlexible = 9
	produceTopicIDs = 13
)

// readProduce decodes a Produce request (version 3 and later, set in req) into memory of an earlier one. What kmsg would
// allocate for each request is a tenth of the cost of a small one. Unknown tags are dropped. Records borrow body. It
// reports false if body isn't such a request; decodedSize has found that out before.
func readProduce(req *kmsg.ProduceRequest, body []byte) bool {
	r := bodyReader{src: body, flexible: req.Version >= produceFlexible}
	req.TransactionID = r.nullableString(req.TransactionID)
	req.Acks = r.int16()
	req.TimeoutMillis = r.int32()
	req.Topics = resize(req.Topics, r.count())
	for i := range req.Topics {
		t := &req.Topics[i]
		if req.Version >= produceTopicIDs {
			t.Topic, t.TopicID = "", r.uuid()
		} else {
			t.Topic, t.TopicID = r.string(t.Topic), [16]byte{}
		}
		t.Partitions = resize(t.Partitions, r.count())
		for j := range t.Partitions {
			p := &t.Partitions[j]
			p.Partition = r.int32()
			p.Records = r.bytes()
			r.skipTags()
		}
		r.skipTags()
	}
	r.skipTags()
	return !r.short && len(r.src) == 0
}
