package load

import (
	"fmt"
	"time"
)

// Drain reads a partition from its start to its end once, one Fetch in flight.
type Drain struct {
	Address  string
	Topic    string
	MaxBytes int // of a request
}

// Run reads the partition.
func (d Drain) Run() (Result, error) {
	c, err := dial(d.Address)
	if err != nil {
		return Result{}, err
	}
	defer c.Close()
	last, err := c.endOffset(d.Topic, 0)
	if err != nil {
		return Result{}, err
	}
	frame := fetchFrame(d.Topic, 0, d.MaxBytes, 0)
	var r Result
	start := time.Now()
	for offset := int64(0); offset < last; r.Requests++ {
		setCorrelation(frame, uint32(r.Requests))
		putOffset(frame, offset)
		sent := time.Now()
		if err := c.send(frame); err != nil {
			return r, err
		}
		answer, err := c.receive(uint32(r.Requests))
		if err != nil {
			return r, err
		}
		r.latencies = append(r.latencies, time.Since(sent))
		records, err := recordsOf(answer)
		if err != nil {
			return r, err
		}
		end, ok := endOf(records)
		if !ok {
			return r, fmt.Errorf("no batch at offset %d of %d", offset, last)
		}
		r.Bytes += int64(len(records))
		offset = end
	}
	r.Elapsed = time.Since(start)
	return *r.sorted(), nil
}
