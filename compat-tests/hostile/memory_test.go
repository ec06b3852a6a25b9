package hostile

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// budgetBytes is Ottla's default of queued.max.request.bytes.
	budgetBytes = 256 << 20
	// slackBytes is what a broker may take beside requests and replies.
	slackBytes = 100 << 20
)

// TestStalledFrames opens connections that each send most of a large Produce request and stall.
func TestStalledFrames(t *testing.T) {
	const connections, size = 200, 10 << 20
	b := startBroker(t, "")
	client := good(t, b)
	before := usage(t, b)
	frame := make([]byte, size)
	binary.BigEndian.PutUint32(frame, size-4)
	binary.BigEndian.PutUint16(frame[6:], 9) // Produce v9.
	var all crowd
	defer func() { all.close() }()
	for i := range connections {
		c, err := dialFrom(b, "127.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
		// The broker doesn't read from those it has no memory for: their writers wait until they are closed.
		go func() { _, _ = c.Write(frame[:size-1000-i]) }()
	}
	await(t, "memory is taken", func() bool { return usage(t, b).ResidentBytes > before.ResidentBytes+size })
	// While the good client works: several rounds in which stalled connections are closed for those that wait.
	client.work(t, 1000)
	u := usage(t, b)
	t.Logf("%d MiB resident, peak %d, before %d", u.ResidentBytes>>20, u.PeakBytes>>20, before.ResidentBytes>>20)
	if u.PeakBytes > budgetBytes+slackBytes {
		t.Errorf("the broker took %d MiB", u.PeakBytes>>20)
	}
	all.close()
	await(t, "the connections are gone", func() bool { return usage(t, b).Sockets <= before.Sockets+2 })
	client.check(t)
}

// TestSlowConsumers has consumers ask for much more than they read.
func TestSlowConsumers(t *testing.T) {
	const (
		consumers, requests = 20, 20
		fetchBytes          = 1 << 20
		maxGrowth           = 32 << 20
	)
	b := startBroker(t, "")
	admin(t, b, func(ctx context.Context, client *kgo.Client) error {
		if err := createTopic(ctx, client, "large", 1); err != nil {
			return err
		}
		value := make([]byte, 500<<10)
		for i := range value {
			value[i] = byte(i * i)
		}
		for range 20 {
			if err := client.ProduceSync(ctx, &kgo.Record{Topic: "large", Value: value}).FirstErr(); err != nil {
				return err
			}
		}
		return nil
	})
	client := good(t, b)
	if err := b.ResetPeak(); err != nil {
		t.Fatal(err)
	}
	before := usage(t, b)
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxBytes, req.MinBytes, req.ReplicaID, req.SessionEpoch = 11, fetchBytes, 1, -1, -1
	topic := kmsg.NewFetchRequestTopic()
	partition := kmsg.NewFetchRequestTopicPartition()
	topic.Topic, partition.PartitionMaxBytes = "large", fetchBytes
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	frame := kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)
	var all crowd
	defer func() { all.close() }()
	for range consumers {
		c, err := dialFrom(b, "127.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
		for range requests {
			if _, err := c.Write(frame); err != nil {
				t.Fatal(err)
			}
		}
	}
	client.work(t, 500)
	u := usage(t, b)
	t.Logf("%d MiB resident, peak %d, before %d", u.ResidentBytes>>20, u.PeakBytes>>20, before.ResidentBytes>>20)
	if growth := u.PeakBytes - before.ResidentBytes; growth > maxGrowth {
		t.Errorf("memory grew by %d MiB, more than %d", growth>>20, maxGrowth>>20)
	}
	all.close()
	await(t, "the connections are gone", func() bool { return usage(t, b).Sockets <= before.Sockets+2 })
	client.check(t)
}
