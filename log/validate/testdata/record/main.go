// Command record plays Produce requests with one hand-made batch each to a Kafka broker and
// writes what it answered, and what it stored, as lines of JSON. From the root of the
// repository:
//
//	go run ./log/validate/testdata/record 127.0.0.1:9092 >log/validate/testdata/kafka-4.4.0.jsonl
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/ottla/ottla/log/batch"
)

// answer is one line of the file; validate's oracle_test.go reads it.
type answer struct {
	Name    string            `json:"name"`
	Topic   string            `json:"topic"`
	Config  map[string]string `json:"config,omitempty"`
	Version int16             `json:"version"`
	Records []byte            `json:"records"`
	NowMs   int64             `json:"now"`
	Code    int16             `json:"code"`
	Message *string           `json:"message,omitempty"`
	Errors  []recordError     `json:"errors,omitempty"`
	Base    int64             `json:"base"`
	AppendT int64             `json:"append_time"`
	Stored  []byte            `json:"stored,omitempty"`
}

type recordError struct {
	Index   int32  `json:"index"`
	Message string `json:"message"`
}

// topics are the settings of each topic that cases are played to.
var topics = map[string]map[string]string{
	"plain":     {},
	"compact":   {"cleanup.policy": "compact"},
	"append":    {"message.timestamp.type": "LogAppendTime"},
	"gzip":      {"compression.type": "gzip"},
	"plaincode": {"compression.type": "uncompressed"},
	"range":     {"message.timestamp.before.max.ms": "10000", "message.timestamp.after.max.ms": "10000"},
	"small":     {"max.message.bytes": "200"},
	"expanded":  {"max.decompressed.message.bytes": "100"},
	"appendzip": {"compression.type": "zstd", "message.timestamp.type": "LogAppendTime"},
}

type recorder struct {
	client    *kgo.Client
	bootstrap string
	prefix    string
	out       *json.Encoder
}

func main() {
	client, err := kgo.NewClient(kgo.SeedBrokers(os.Args[1]))
	check(err)
	r := &recorder{
		client: client, bootstrap: os.Args[1], out: json.NewEncoder(os.Stdout),
		prefix: fmt.Sprintf("validate-%d-", time.Now().UnixMilli()),
	}
	admin := kadm.NewClient(client)
	for topic, config := range topics {
		pointers := map[string]*string{}
		for k, v := range config {
			pointers[k] = &v
		}
		_, err := admin.CreateTopic(context.Background(), 1, 1, pointers, r.prefix+topic)
		check(err)
	}
	r.play()
	r.playChecksums()
	for topic := range topics {
		_, err := admin.DeleteTopics(context.Background(), r.prefix+topic)
		check(err)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// request plays one request and writes its line.
func (r *recorder) request(version int16, name, topic string, records []byte) {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(0, version)
	client, err := kgo.NewClient(kgo.SeedBrokers(r.bootstrap), kgo.MaxVersions(versions), kgo.RequestRetries(0))
	check(err)
	defer client.Close()
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 5000
	if len(records) >= batch.HeaderSize && batch.Attributes(binary.BigEndian.Uint16(records[21:])).IsTransactional() {
		id := "validate-recorder"
		req.TransactionID = &id
	}
	t := kmsg.NewProduceRequestTopic()
	t.Topic = r.prefix + topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = records
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(context.Background(), client)
	check(err)
	rp := resp.Topics[0].Partitions[0]
	a := answer{
		Name: name, Topic: topic, Config: topics[topic], Version: version, Records: records,
		NowMs: time.Now().UnixMilli(), Code: rp.ErrorCode, Message: rp.ErrorMessage,
		Base: rp.BaseOffset, AppendT: rp.LogAppendTime,
	}
	for _, e := range rp.ErrorRecords {
		a.Errors = append(a.Errors, recordError{e.RelativeOffset, *e.ErrorMessage})
	}
	if a.Code == 0 {
		a.Stored = r.fetch(topic, a.Base)
	}
	check(r.out.Encode(a))
}

// fetch reads the stored batch at offset.
func (r *recorder) fetch(topic string, offset int64) []byte {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = -1, 5000, 1, 1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = r.prefix + topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = offset, 1, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(1, 12)
	client, err := kgo.NewClient(kgo.SeedBrokers(r.bootstrap), kgo.MaxVersions(versions))
	check(err)
	defer client.Close()
	resp, err := req.RequestWith(context.Background(), client)
	check(err)
	b, _, err := batch.Parse(resp.Topics[0].Partitions[0].RecordBatches)
	check(err)
	return b.Bytes()
}

var codecs = batch.NewCodecs()

// build makes a batch of n records, by add or with key and value.
func build(n int, codec batch.Codec, add func(i int, b *batch.Builder)) []byte {
	o := batch.DefaultOptions()
	o.Codec = codec
	b := codecs.NewBuilder(nil, o)
	for i := range n {
		if add != nil {
			add(i, b)
			continue
		}
		b.Append(time.Now().UnixMilli(), fmt.Appendf(nil, "k%d", i), []byte("value"))
	}
	raw, err := b.Build()
	check(err)
	return raw
}

// sum writes the CRC again after a change.
func sum(b []byte) []byte {
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func put16(b []byte, at int, v uint16) []byte {
	binary.BigEndian.PutUint16(b[at:], v)
	return sum(b)
}

func put32(b []byte, at int, v int32) []byte {
	binary.BigEndian.PutUint32(b[at:], uint32(v))
	return sum(b)
}

func put64(b []byte, at int, v int64) []byte {
	binary.BigEndian.PutUint64(b[at:], uint64(v))
	return sum(b)
}

// length writes the length field, which the CRC doesn't cover.
func length(b []byte, v int32) []byte {
	binary.BigEndian.PutUint32(b[8:], uint32(v))
	return b
}

// payload replaces what follows the head.
func payload(b, records []byte) []byte {
	b = append(b[:batch.HeaderSize:batch.HeaderSize], records...)
	return sum(length(b, int32(len(b)-batch.LogOverhead)))
}

// counted sets record count and last offset delta.
func counted(b []byte, records int32) []byte { return put32(put32(b, 57, records), 23, records-1) }
