package wire

import (
	"io"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchBody is a Fetch v12 of 10 topics with 10 partitions each.
func fetchBody() []byte {
	req := kmsg.NewPtrFetchRequest()
	req.Version = 12
	for range 10 {
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic = "some-topic"
		for range 10 {
			topic.Partitions = append(topic.Partitions, kmsg.NewFetchRequestTopicPartition())
		}
		req.Topics = append(req.Topics, topic)
	}
	return req.AppendTo(nil)
}

// BenchmarkWalk measures the walk over a Fetch of 100 partitions, BenchmarkDecode the walk and the decoding.
func BenchmarkWalk(b *testing.B) {
	body := fetchBody()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodedSize(1, 12, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	body := fetchBody()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeBody(1, 12, body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRoundTrip measures one small request and reply at a time over the loopback, client included.
func BenchmarkRoundTrip(b *testing.B) {
	for name, transport := range map[string]Transport{"loop": TransportLoop, "std": TransportStd} {
		b.Run(name, func(b *testing.B) {
			s := serve(b, transport, answerMetadata)
			c := s.dial()
			request := metadata(1, "topic")
			c.send(request)
			reply := make([]byte, 4+len(c.receive()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.c.Write(request); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c.c, reply); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
