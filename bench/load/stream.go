package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// streamWait is how long a consumer lets the broker hold a fetch.
	streamWait = 500 * time.Millisecond
	// streamGrace is how late the last record may come.
	streamGrace = 20 * time.Second
	// streamMost bounds the records of one request when the broker falls behind.
	streamMost = 512
	// streamDepth is how many requests a stock producer has in flight.
	streamDepth = 5
)

// Stream is a load from end to end: one connection produces records at a fixed rate with acks=all, and
// consumers wait for them with long polls. A record goes out when it is due, as a batch of its own; with five
// requests in flight it waits, and goes with all that are due by then, as from a stock client. The topic must
// be new, with one partition.
type Stream struct {
	Address     string
	Topic       string
	PerSecond   int64
	Records     int64
	RecordBytes int
	Consumers   int
	// RunIn is how many records at the start have no latency taken.
	RunIn int64
}

// Run sends and receives all records. The result's records are those delivered, to all consumers together,
// and its latencies theirs: from when a record was due to when a consumer had the answer with it.
func (s Stream) Run() (Result, error) {
	conns := make([]*conn, 1+s.Consumers)
	closeAll := func() {
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
	}
	defer closeAll()
	for i := range conns {
		c, err := dial(s.Address)
		if err != nil {
			return Result{}, err
		}
		conns[i] = c
	}
	p := pace{time.Now().Add(300 * time.Millisecond), s.PerSecond} // Until then all consumers wait.
	results, errs := make([]Result, len(conns)), make([]error, len(conns))
	var wg sync.WaitGroup
	for i, c := range conns {
		wg.Go(func() {
			if i == 0 {
				results[0].Requests, errs[0] = s.produce(c, p)
			} else {
				results[i], errs[i] = s.consume(c, p)
			}
			if errs[i] != nil {
				closeAll() // The others would wait in vain.
			}
		})
	}
	wg.Wait()
	return merge(results, time.Since(p.start)), errors.Join(errs...)
}

func (s *Stream) produce(c *conn, p pace) (int64, error) {
	request := Produce{Topic: s.Topic, Acks: -1}
	want := request.answer(0)
	// frames are the requests by their number of records. Five are in flight, but each is sent before
	// the next one is made.
	frames := make(map[int64][]byte)
	return paced(c, p, s.Records, streamMost, p.due(s.Records).Add(streamGrace), streamDepth, func(f flight) []byte {
		if frames[f.took] == nil {
			frames[f.took] = request.frame(0, makeRecords(int(f.took), s.RecordBytes, time.Now()))
		}
		return frames[f.took]
	}, func(answer []byte, _ flight) error { return check(answer, want) })
}

func (s *Stream) consume(c *conn, p pace) (Result, error) {
	r := Result{latencies: make([]time.Duration, 0, s.Records)}
	frame := fetchFrame(s.Topic, 0, 1<<20, int32(streamWait.Milliseconds()))
	limit := p.due(s.Records).Add(streamGrace)
	for id := uint32(0); r.Records < s.Records; id++ {
		setCorrelation(frame, id)
		putOffset(frame, r.Records)
		if err := c.send(frame); err != nil {
			return r, err
		}
		answer, err := c.receive(id)
		if err != nil {
			return r, err
		}
		now := time.Now()
		records, err := recordsOf(answer)
		if err != nil {
			return r, err
		}
		if now.After(limit) {
			return r, fmt.Errorf("%d of %d records came in time", r.Records, s.Records)
		}
		r.Bytes += int64(len(records))
		first, err := next(records, r.Records)
		if err != nil {
			return r, err
		}
		for ; r.Records < first; r.Records++ {
			if r.Records >= s.RunIn {
				r.latencies = append(r.latencies, now.Sub(p.due(r.Records)))
			}
		}
	}
	return r, nil
}

// next is the offset behind the last whole batch, which is want if there is none. No offset may be missing
// from want on.
func next(records []byte, want int64) (int64, error) {
	for {
		end, ok := endOf(records[:firstBatch(records)])
		if !ok {
			return want, nil
		}
		if base := int64(binary.BigEndian.Uint64(records)); base > want || end <= want {
			return 0, fmt.Errorf("a batch of the offsets %d to %d where %d was due", base, end-1, want)
		}
		want, records = end, records[firstBatch(records):]
	}
}

// firstBatch is the size of the first batch, or of what there is of it.
func firstBatch(records []byte) int {
	if len(records) < batchHeaderBytes {
		return len(records)
	}
	return min(12+int(binary.BigEndian.Uint32(records[8:])), len(records))
}

// RecordsPerRequest is how many records a request of a Stream had, with so many consumers.
func (r *Result) RecordsPerRequest(consumers int) float64 {
	return float64(r.Records) / float64(consumers) / float64(max(r.Requests, 1))
}

// sorted puts latencies that one connection took in order.
func (r *Result) sorted() *Result {
	slices.Sort(r.latencies)
	return r
}
