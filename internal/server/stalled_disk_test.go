package server

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestStalledDiskRead has a consumer read what isn't in the page cache, of a disk that doesn't answer: other connections, all
// of the same event loop, don't notice, and it gets its records once the disk does.
func TestStalledDiskRead(t *testing.T) {
	n := newNode()
	var armed, cached, reads atomic.Int32
	answers := make(chan struct{})
	n.fs = vfs.NewInject(vfs.NewMem(), func(_ int64, op vfs.Op, name string) error {
		if armed.Load() == 0 || !strings.HasSuffix(name, ".log") {
			return nil
		}
		switch op {
		case vfs.OpReadCached:
			cached.Add(1)
			return errors.New("not in memory")
		case vfs.OpRead:
			reads.Add(1)
			<-answers
		}
		return nil
	})
	s, err := n.start(t, map[string]string{"num.network.threads": "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer closeServer(t, s)
	c := dial(t, s)
	createTopic(t, c, "slow", 1)
	createTopic(t, c, "empty", 1)
	if code := produceOne(t, c, "slow", 0); code != 0 {
		t.Fatalf("Produce: error %d", code)
	}
	fetch := func(topic string) *kmsg.FetchRequest {
		req := kmsg.NewPtrFetchRequest()
		req.Version, req.MaxBytes, req.MinBytes = 12, 1<<20, 1
		p := kmsg.NewFetchRequestTopicPartition()
		p.PartitionMaxBytes = 1 << 20
		req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
		return req
	}
	armed.Store(1)
	answered := make(chan *kmsg.FetchResponse, 1)
	slow := dial(t, s)
	go func() {
		resp, err := slow.Request(context.Background(), fetch("slow"))
		if err != nil {
			t.Error(err)
			resp = &kmsg.FetchResponse{}
		}
		answered <- resp.(*kmsg.FetchResponse)
	}()
	other := dial(t, s)
	for i := 0; reads.Load() == 0 || i < 100; i++ {
		ask[*kmsg.MetadataResponse](t, other, kmsg.NewPtrMetadataRequest(), 12)
		ask[*kmsg.FetchResponse](t, other, fetch("empty"), 12)
	}
	select {
	case <-answered:
		t.Error("answered without the disk")
	default:
	}
	if cached.Load() == 0 {
		t.Error("nobody asked the page cache")
	}
	close(answers)
	if p := (<-answered).Topics[0].Partitions[0]; p.ErrorCode != 0 || !strings.Contains(string(p.RecordBatches), "value") {
		t.Errorf("%+v", p)
	}
}

// TestStalledDiskAppend has an append wait for a disk that doesn't answer, in the write itself or in the flush that it asks for: other
// connections, all of the same event loop, which is busy, go on.
func TestStalledDiskAppend(t *testing.T) {
	for _, stalls := range []struct {
		op       vfs.Op
		settings map[string]string
	}{
		{vfs.OpWrite, map[string]string{"num.network.threads": "1"}},
		{vfs.OpSync, map[string]string{"num.network.threads": "1", "log.flush.interval.messages": "1"}},
	} {
		t.Run(string(stalls.op), func(t *testing.T) {
			n := newNode()
			var armed atomic.Bool
			var waiting atomic.Int32
			answers := make(chan struct{})
			n.fs = vfs.NewInject(vfs.NewMem(), func(_ int64, op vfs.Op, name string) error {
				if op == stalls.op && armed.Load() && strings.Contains(name, "slow-0/") && strings.HasSuffix(name, ".log") {
					waiting.Add(1)
					<-answers
				}
				return nil
			})
			s, err := n.start(t, stalls.settings)
			if err != nil {
				t.Fatal(err)
			}
			defer closeServer(t, s)
			slow, quick := dial(t, s), dial(t, s)
			createTopic(t, slow, "slow", 1)
			createTopic(t, slow, "quick", 1)
			produce := func(c *wire.Client, topic string) {
				if code := produceOne(t, c, topic, 0); code != 0 {
					t.Errorf("Produce to %s: error %d", topic, code)
				}
			}
			for range 50 { // Until the loop is busy.
				produce(quick, "quick")
				produce(slow, "slow")
			}
			armed.Store(true)
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				produce(slow, "slow")
			}()
			for i := 0; waiting.Load() == 0 || i < 100; i++ {
				produce(quick, "quick")
			}
			select {
			case <-answered:
				t.Error("answered without the disk")
			default:
			}
			close(answers)
			<-answered
		})
	}
}
