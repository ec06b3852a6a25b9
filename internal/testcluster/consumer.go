package testcluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/log/batch"
)

// consumer reads all partitions over and over, mostly from their leaders, and tells the history what it got.
type consumer struct {
	*client
	codecs     *batch.Codecs
	partitions int32
	// next are the offsets to read next.
	next map[int32]int64
}

// run reads until ctx ends.
func (c *consumer) run(ctx context.Context) {
	defer c.close()
	for attempt := 0; ctx.Err() == nil; {
		partition := c.rng.Int32N(c.partitions)
		node, epoch, ok := c.leader(partition)
		if !ok || c.rng.IntN(10) == 0 {
			if c.refresh() != nil {
				attempt++
				c.backoff(attempt)
				continue
			}
			if node, epoch, ok = c.leader(partition); !ok {
				attempt++
				c.backoff(attempt)
				continue
			}
		}
		from := node
		if c.rng.IntN(4) == 0 {
			from = c.anyNode()
		}
		f, err := c.fetch(from, partition, epoch, c.next[partition], 100*time.Millisecond)
		if err == nil && from == node {
			c.history.mark(mark{c.name, term{partition, epoch}, from, f.watermark})
		}
		if err != nil {
			attempt++
			if errors.Is(err, kerr.OffsetOutOfRange) && c.rng.IntN(4) == 0 {
				c.next[partition] = 0 // Reading again is part of the test.
			}
			_ = c.refresh() // The next fetch tells whether it helped.
			c.backoff(attempt)
			continue
		}
		attempt = 0
		for _, r := range f.records {
			if r.offset >= f.watermark {
				c.cluster.violate("%s: n%d returned offset %d of partition %d, beyond its high watermark %d", c.name, from, r.offset, partition, f.watermark)
			}
			c.history.read(read{partition, r.offset, r.value, from})
			c.next[partition] = r.offset + 1
		}
		if c.rng.IntN(50) == 0 {
			c.next[partition] = 0
		}
		time.Sleep(time.Duration(c.rng.Int64N(int64(60 * time.Millisecond))))
	}
}

// fetched is a node's answer.
type fetched struct {
	watermark int64
	records   []storedRecord
}

// fetch reads from a node once. Records before offset, of a batch that holds it, are left out.
func (c *consumer) fetch(node, partition, epoch int32, offset int64, wait time.Duration) (fetched, error) {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 12, int32(wait/time.Millisecond), 1, 1<<20, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.FetchOffset, p.PartitionMaxBytes = partition, epoch, offset, 1<<20
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := c.ask(node, req)
	if err != nil {
		return fetched{}, err
	}
	r := resp.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
		return fetched{}, err
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return fetched{}, errors.New("the answer isn't about what was asked")
	}
	a := &r.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(a.ErrorCode); err != nil {
		return fetched{}, err
	}
	f := fetched{watermark: a.HighWatermark}
	f.records, err = c.decode(a.RecordBatches, offset)
	if err != nil {
		c.cluster.violate("%s: n%d returned damaged records: %v", c.name, node, err)
	}
	return f, err
}

// decode takes batches apart; the last one may be cut off.
func (c *consumer) decode(raw []byte, from int64) (list []storedRecord, err error) {
	for len(raw) >= batch.HeaderSize {
		size, _, err := batch.ParseSize(raw)
		if err != nil {
			return list, err
		}
		if size > len(raw) {
			break
		}
		b, rest, err := batch.Parse(raw)
		if err != nil {
			return list, err
		}
		raw = rest
		if err := b.CheckCRC(); err != nil {
			return list, fmt.Errorf("batch at %d: %w", b.BaseOffset, err)
		}
		rr, err := c.codecs.Records(&b, 1<<20)
		if err != nil {
			return list, err
		}
		var r batch.Record
		for rr.Next(&r) {
			if r.Offset >= from {
				list = append(list, storedRecord{offset: r.Offset, epoch: b.LeaderEpoch, value: string(r.Value)})
			}
		}
		err = rr.Err()
		rr.Close()
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

// all reads a partition from a node up to its high watermark.
func (c *consumer) all(node, partition int32) (log []storedRecord, err error) {
	next := int64(0)
	for attempt := 0; ; {
		f, err := c.fetch(node, partition, -1, next, 0)
		if err != nil {
			if attempt++; attempt > 50 {
				return nil, err
			}
			c.backoff(attempt)
			continue
		}
		log = append(log, f.records...)
		if len(f.records) > 0 {
			next = f.records[len(f.records)-1].offset + 1
		}
		if next >= f.watermark {
			return log, nil
		}
		if len(f.records) == 0 {
			return log, fmt.Errorf("n%d returns nothing at offset %d, below its high watermark %d", node, next, f.watermark)
		}
	}
}
