package wire

import (
	"bytes"
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestClientReusesFetches: responses to Fetch share memory if the owner says so, those to other requests never
// do, and memory that was needed once isn't kept for ever.
func TestClientReusesFetches(t *testing.T) {
	size := make(chan int, 1)
	s := serve(t, TransportAuto, func(r *Request) {
		if r.Key != fetchKey {
			answerMetadata(r)
			return
		}
		resp := r.Body.ResponseKind().(*kmsg.FetchResponse)
		topic, p := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
		n := <-size
		p.RecordBatches = bytes.Repeat([]byte{byte(n)}, n)
		topic.Partitions = append(topic.Partitions, p)
		resp.Topics = append(resp.Topics, topic)
		r.Reply(resp)
	})
	for _, reuse := range []bool{false, true} {
		c := s.client(func(cfg *ClientConfig) { cfg.ReuseFetches = reuse })
		fetch := func(n int) []byte {
			t.Helper()
			req := kmsg.NewPtrFetchRequest()
			req.Version = 12
			size <- n
			resp, err := c.Request(context.Background(), req)
			if err != nil {
				t.Fatal(err)
			}
			records := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches
			if !bytes.Equal(records, bytes.Repeat([]byte{byte(n)}, n)) {
				t.Fatalf("%d bytes came damaged", n)
			}
			return records
		}
		large := fetch(3_000_001)
		if _, err := c.Request(context.Background(), metadataRequest("x")); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(large, bytes.Repeat([]byte{byte(3_000_001 & 0xff)}, 3_000_001)) {
			t.Error("another request's response has overwritten a fetched one")
		}
		next := fetch(2_500_000)
		if same := &next[0] == &large[0]; same != reuse {
			t.Errorf("reuse %v: shared memory %v", reuse, same)
		}
		for range spareResponses {
			fetch(10)
		}
		if len(c.fetched.mem) != 0 || cap(c.fetched.mem) > keptBytes {
			t.Errorf("reuse %v: %d bytes are kept", reuse, cap(c.fetched.mem))
		}
		c.Close()
	}
}
