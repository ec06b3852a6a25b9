package ottla_test

import (
	"encoding/binary"
	"io"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestSteadyStateAllocatesNothing produces and fetches over a connection, from the socket to the file and back: on average
// a request takes no memory but such as is used again. All goroutines of the broker count.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	b := startData(t)
	b.create(b.raw(), "t", 1)
	c := b.dial()
	answer := make([]byte, 64<<10)
	ask := func(frame []byte) []byte {
		if _, err := c.Write(frame); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, answer[:4]); err != nil {
			t.Fatal(err)
		}
		body := answer[:binary.BigEndian.Uint32(answer)]
		if _, err := io.ReadFull(c, body); err != nil {
			t.Fatal(err)
		}
		return body
	}
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID("steady"))
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version, fetch.MaxBytes, fetch.MinBytes = 12, 1<<20, 1
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes = 1
	fetch.Topics = []kmsg.FetchRequestTopic{{Topic: "t", Partitions: []kmsg.FetchRequestTopicPartition{p}}}

	const runs = 500
	var body []byte
	const responseHeader = 4 + 1
	for _, acks := range []int16{1, -1} {
		produce := produceTo("t", 0, sequenced(-1, -1, -1, string(make([]byte, 16<<10))))
		produce.Acks = acks
		frame := format.AppendRequest(nil, produce, 1)
		var resp kmsg.ProduceResponse
		resp.Version = produce.Version
		read := func() int64 {
			resp = kmsg.ProduceResponse{Version: produce.Version}
			if err := resp.ReadFrom(body[responseHeader:]); err != nil || resp.Topics[0].Partitions[0].ErrorCode != 0 {
				t.Fatalf("%v: %+v", err, resp)
			}
			return resp.Topics[0].Partitions[0].BaseOffset
		}
		body = ask(frame)
		first := read()
		got := testing.AllocsPerRun(runs, func() { body = ask(frame) })
		if got != 0 && !raceEnabled {
			t.Errorf("a produce with acks=%d allocates %.0f times", acks, got)
		}
		if last := read(); last != first+runs+1 { // AllocsPerRun has one more before.
			t.Errorf("the last batch of %d has offset %d, the first one %d", runs, last, first)
		}
	}
	frame := format.AppendRequest(nil, fetch, 1)
	got := testing.AllocsPerRun(runs, func() { body = ask(frame) })
	if got != 0 && !raceEnabled {
		t.Errorf("a fetch allocates %.0f times", got)
	}
	resp := kmsg.FetchResponse{Version: fetch.Version}
	if err := resp.ReadFrom(body[responseHeader:]); err != nil || len(resp.Topics[0].Partitions[0].RecordBatches) < 16<<10 {
		t.Errorf("%v: %+v", err, resp)
	}
}
