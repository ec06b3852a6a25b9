// Command record writes to a topic of a Kafka broker as many kinds of producers as a snapshot
// can tell of, and lets the segment roll, at which the broker writes a snapshot. From the root
// of the repository, with D the broker's log directory:
//
//	go run ./log/producer/testdata/record 127.0.0.1:9092 snapshots
//	cp $D/snapshots-0/00000000000000000000.log log/producer/testdata/kafka.log
//	cp $D/snapshots-0/00000000000000000000.txnindex log/producer/testdata/kafka.txnindex
//	cp $D/snapshots-0/*.snapshot log/producer/testdata/
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/ottla/ottla/log/batch"
)

var ctx = context.Background()

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	bootstrap, topic := os.Args[1], os.Args[2]
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	check(err)
	rollMs := "1000"
	_, err = kadm.NewClient(client).CreateTopic(ctx, 1, 1, map[string]*string{"segment.ms": &rollMs}, topic)
	check(err)
	// Ids in more than 16 buckets of a hash map, several of them in the same one.
	for i := range int64(20) {
		idempotent(topic, 700_000+i*i*37, int16(i), 10*int32(i), 1+int(i)%3)
	}
	idempotent(topic, 1<<40+5, 3, 0, 1) // The upper half of the id counts.
	for i := range int32(7) {
		idempotent(topic, 800_000, 0, (1<<31-4+i)&(1<<31-1), 1)
	}
	transaction(bootstrap, topic, "committed", kgo.TryCommit)
	transaction(bootstrap, topic, "aborted", kgo.TryAbort)
	open := transactional(bootstrap, topic, "open")
	check(open.BeginTransaction())
	check(open.ProduceSync(ctx, kgo.StringRecord("open")).FirstErr())
	time.Sleep(1500 * time.Millisecond) // The broker rolls by its own clock.
	idempotent(topic, 900_000, 0, 0, 1)
	check(open.EndTransaction(ctx, kgo.TryAbort))
}

func transactional(bootstrap, topic, id string) *kgo.Client {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.DefaultProduceTopic(topic), kgo.TransactionalID(topic+"-"+id))
	check(err)
	return client
}

func transaction(bootstrap, topic, id string, end kgo.TransactionEndTry) {
	client := transactional(bootstrap, topic, id)
	defer client.Close()
	check(client.BeginTransaction())
	check(client.ProduceSync(ctx, kgo.StringRecord(id)).FirstErr())
	check(client.EndTransaction(ctx, end))
}

// idempotent writes a batch of n records in the name of a producer.
func idempotent(topic string, producerID int64, epoch int16, sequence int32, n int) {
	o := batch.DefaultOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = producerID, epoch, sequence
	b := batch.NewCodecs().NewBuilder(nil, o)
	for range n {
		b.Append(time.Now().UnixMilli(), []byte("k"), []byte("v"))
	}
	records, err := b.Build()
	check(err)
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 5000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = records
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(0, 9)
	client, err := kgo.NewClient(kgo.SeedBrokers(os.Args[1]), kgo.MaxVersions(versions))
	check(err)
	defer client.Close()
	resp, err := req.RequestWith(ctx, client)
	check(err)
	check(kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode))
}
