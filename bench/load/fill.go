package load

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Fill says which topics to make, and what to write into each of their partitions.
type Fill struct {
	Address    string
	Topics     []string
	Partitions int
	// Segments is how many segments each partition gets, of one batch of SizeBytes each.
	Segments, SizeBytes int
}

// fillStep lies between the timestamps of a partition's batches; it is longer than segment.ms, so that
// each batch begins a segment.
const fillStep = time.Hour

// CreateAll makes the topics and waits for their leaders.
func (f *Fill) CreateAll() error {
	for _, name := range f.Topics {
		if err := createTopic(f.Address, name, f.Partitions, [2]string{"segment.ms", "60000"}); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
	}
	return AwaitLeaders(f.Address, f.Topics, f.Partitions, time.Minute)
}

// Write writes the batches: one request has a batch for every partition of a topic.
func (f *Fill) Write() error {
	c, err := dial(f.Address)
	if err != nil {
		return err
	}
	defer c.Close()
	first := time.Now().Add(-time.Duration(f.Segments) * fillStep)
	for i := range f.Segments {
		batch, _ := makeBatch(f.SizeBytes, f.SizeBytes/4, first.Add(time.Duration(i)*fillStep))
		for _, name := range f.Topics {
			if err := c.fill(name, f.Partitions, batch); err != nil {
				return fmt.Errorf("produce to %s: %w", name, err)
			}
		}
	}
	return nil
}

// fill sends one batch to each partition of a topic.
func (c *conn) fill(topic string, partitions int, batch []byte) error {
	r, err := c.ask(toAll(topic, partitions, 1, batch))
	if err != nil {
		return err
	}
	return written(r.(*kmsg.ProduceResponse), partitions)
}
