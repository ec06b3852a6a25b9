package load

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"
)

// Walk is a load of Produce requests on one connection that go to all partitions of all topics in turn.
type Walk struct {
	Address     string
	Topics      []string
	Partitions  int // of each topic
	BatchBytes  int
	RecordBytes int
	Depth       int // requests in flight
	Acks        int16
	Requests    int64
}

// Run sends the requests and waits for the answers.
func (w Walk) Run() (Result, error) {
	batch, records := makeBatch(w.BatchBytes, w.RecordBytes, time.Now())
	frames, wants := make([][]byte, len(w.Topics)), make([][]byte, len(w.Topics))
	for i, name := range w.Topics {
		p := Produce{Topic: name, Acks: w.Acks}
		frames[i], wants[i] = p.frame(0, batch), p.answer(0)
	}
	n := int64(len(w.Topics))
	at := func(i int64) (topic int64, partition uint32) { return i % n, uint32(i / n % int64(w.Partitions)) }
	var answered int64
	return spread(w.Address, 1, func(_ int, c *conn) (Result, error) {
		return exchange(c, w.Depth, quota{total: w.Requests}, func(id uint32) []byte {
			topic, partition := at(int64(id))
			setCorrelation(frames[topic], id)
			setPartition(frames[topic], len(batch), partition)
			return frames[topic]
		}, func(answer []byte, r *Result) error {
			topic, partition := at(answered)
			answered++
			want := wants[topic]
			binary.BigEndian.PutUint32(want[len(want)-6:], partition) // in front of the error
			r.Records += int64(records)
			r.Bytes += int64(len(batch))
			return check(answer, want)
		})
	})
}

// setPartition patches the partition of a Produce frame with one batch. Behind the partition come the size of
// the batch, the batch, and the tags of partition, topic and request.
func setPartition(frame []byte, batchBytes int, partition uint32) {
	size := len(binary.AppendUvarint(nil, uint64(batchBytes)+1))
	binary.BigEndian.PutUint32(frame[len(frame)-3-batchBytes-size-4:], partition)
}

// Turns is a load of Produce requests to one partition on many connections, of which few have a request in
// flight at a time: InFlight workers take theirs in turn.
type Turns struct {
	Address     string
	Topic       string
	Connections int
	InFlight    int
	BatchBytes  int
	RecordBytes int
	Acks        int16
	Requests    int64
}

// Open opens the connections and uses each once. Every call of send sends the requests on the first so many of them, at least
// InFlight, and waits for the answers; done closes the connections.
func (t Turns) Open() (send func(connections int) (Result, error), done func(), err error) {
	conns := make([]*conn, 0, t.Connections)
	done = func() {
		for _, c := range conns {
			c.Close()
		}
	}
	for range t.Connections {
		c, err := dial(t.Address)
		if err != nil {
			done()
			return nil, nil, err
		}
		c.in = make([]byte, 256)
		conns = append(conns, c)
	}
	if _, err := t.send(conns, int64(t.Connections)); err != nil {
		done()
		return nil, nil, err
	}
	return func(n int) (Result, error) { return t.send(conns[:n], t.Requests) }, done, nil
}

// send sends requests on all connections and waits for the answers.
func (t *Turns) send(conns []*conn, requests int64) (Result, error) {
	batch, _ := makeBatch(t.BatchBytes, t.RecordBytes, time.Now())
	p := Produce{Topic: t.Topic, Acks: t.Acks}
	want := p.answer(0)
	results, errs := make([]Result, t.InFlight), make([]error, t.InFlight)
	start := time.Now()
	var wg sync.WaitGroup
	for i := range t.InFlight {
		wg.Go(func() {
			own := conns[i*len(conns)/t.InFlight : (i+1)*len(conns)/t.InFlight]
			results[i], errs[i] = inTurn(own, p.frame(0, batch), want, requests/int64(t.InFlight))
			results[i].Bytes = results[i].Requests * int64(len(batch))
		})
	}
	wg.Wait()
	return merge(results, time.Since(start)), errors.Join(errs...)
}

// inTurn sends requests on one connection after the other, and waits for each answer.
func inTurn(conns []*conn, frame, want []byte, requests int64) (r Result, err error) {
	for ; r.Requests < requests; r.Requests++ {
		c := conns[r.Requests%int64(len(conns))]
		sent := time.Now()
		if err := c.send(frame); err != nil {
			return r, err
		}
		answer, err := c.receive(0)
		if err != nil {
			return r, err
		}
		if err := check(answer, want); err != nil {
			return r, err
		}
		r.latencies = append(r.latencies, time.Since(sent))
	}
	return r, nil
}
