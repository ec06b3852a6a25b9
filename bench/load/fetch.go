package load

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchVersion is the newest Fetch version with topic names.
const fetchVersion = 12

// Fetch is a load of Fetch requests that read partitions from their start on, over and over.
type Fetch struct {
	Address     string
	Topic       string
	Partitions  int // connections take them in turn
	MaxBytes    int // of a request
	Connections int
	Requests    int64 // on all connections together
}

// Run sends the requests, one in flight on a connection.
func (f Fetch) Run() (Result, error) {
	each := f.Requests / int64(f.Connections)
	return spread(f.Address, f.Connections, func(i int, c *conn) (Result, error) {
		partition := int32(i % f.Partitions)
		frame := fetchFrame(f.Topic, partition, f.MaxBytes, 0)
		var next int64
		empty := false
		return exchange(c, 1, quota{total: each}, func(id uint32) []byte {
			setCorrelation(frame, id)
			putOffset(frame, next)
			return frame
		}, func(answer []byte, r *Result) error {
			records, err := recordsOf(answer)
			if err != nil {
				return err
			}
			r.Bytes += int64(len(records))
			end, ok := endOf(records)
			switch {
			case ok:
				next, empty = end, false
			case empty:
				return errors.New("the partition is empty")
			default:
				next, empty = 0, true // The end; again from the start.
			}
			return nil
		})
	})
}

// offsetFromEnd is where the fetch offset stands in a frame of fetchFrame, counted from its end.
// Behind it come: last fetched epoch 4, log start offset 8, maximum 4, tags of the partition 1,
// tags of the topic 1, forgotten topics 1, rack 1, tags 1.
const offsetFromEnd = 8 + 4 + 8 + 4 + 1 + 1 + 1 + 1 + 1

// fetchFrame encodes a Fetch request for one partition, outside of a session.
func fetchFrame(topic string, partition int32, maxBytes int, maxWaitMs int32) []byte {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.SessionEpoch = fetchVersion, -1, -1
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = maxWaitMs, 1, int32(maxBytes)
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.LastFetchedEpoch, p.LogStartOffset, p.PartitionMaxBytes = partition, -1, -1, -1, int32(maxBytes)
	req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	return appendFrame(nil, req)
}

// putOffset patches the fetch offset into a frame of fetchFrame.
func putOffset(frame []byte, offset int64) {
	binary.BigEndian.PutUint64(frame[len(frame)-offsetFromEnd:], uint64(offset))
}

var errShort = errors.New("a Fetch answer that ends early")

// recordsOf finds the record batches in an answer to fetchFrame.
func recordsOf(answer []byte) ([]byte, error) {
	d := decoder{b: answer}
	d.skip(4 + 1 + 4)       // correlation id, tags, throttle time
	code := d.int16()       // of the request
	d.skip(4)               // session
	topics := d.uvarint()   // count + 1
	d.skip(d.uvarint() - 1) // name
	partitions := d.uvarint()
	d.skip(4)
	if code == 0 {
		code = d.int16()
	}
	if d.failed || topics != 2 || partitions != 2 {
		return nil, errShort
	}
	if code != 0 {
		return nil, kerr.ErrorForCode(code)
	}
	d.skip(3 * 8) // high watermark, last stable offset, log start offset
	if n := d.uvarint(); n > 1 {
		return nil, fmt.Errorf("%d aborted transactions in a log without any", n-1)
	}
	d.skip(4) // preferred read replica
	n := max(d.uvarint()-1, 0)
	if d.failed || n > len(d.b) {
		return nil, errShort
	}
	return d.b[:n], nil
}

// endOf is the offset behind the last whole batch; false if there is none.
func endOf(records []byte) (next int64, ok bool) {
	for len(records) >= batchHeaderBytes {
		size := 12 + int(binary.BigEndian.Uint32(records[8:]))
		if size > len(records) {
			break
		}
		next, ok = int64(binary.BigEndian.Uint64(records))+int64(binary.BigEndian.Uint32(records[23:]))+1, true
		records = records[size:]
	}
	return next, ok
}

// decoder reads an answer; failed says that it was too short.
type decoder struct {
	b      []byte
	failed bool
}

func (d *decoder) skip(n int) {
	if n < 0 || n > len(d.b) {
		d.failed, n = true, len(d.b)
	}
	d.b = d.b[n:]
}

func (d *decoder) int16() int16 {
	if len(d.b) < 2 {
		d.failed = true
		return 0
	}
	v := int16(binary.BigEndian.Uint16(d.b))
	d.b = d.b[2:]
	return v
}

func (d *decoder) uvarint() int {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > maxAnswer {
		d.failed = true
		return 0
	}
	d.b = d.b[n:]
	return int(v)
}
