package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Sizes of the data set's segments and batches; the latter is the default of Kafka's producer.
const (
	segmentBytes = 128 << 20
	batchBytes   = 16 << 10
	// overheadBytes are a record's lengths, deltas and attributes.
	overheadBytes = 10
)

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// dataset is what is compacted.
type dataset struct {
	bytes       int64
	recordBytes int
	keys        int
	codec       kgo.CompressionCodec
}

// records fill the segments that are compacted, and an active one.
func (d *dataset) records() int64 { return (d.bytes + segmentBytes/2) / int64(d.recordBytes) }

// make writes the data set as a partition's files into dir, by an Ottla that is ended then, and returns the size of all
// segments but the active one.
func (d *dataset) make(ctx context.Context, ottla, dir string) (dirtyBytes int64, err error) {
	n, err := node.StartOttla(ctx, ottla, dir, "auto.create.topics.enable=false")
	if err != nil {
		return 0, err
	}
	err = errors.Join(d.produce(ctx, n.Address), n.Stop())
	if err != nil {
		return 0, err
	}
	logs, err := filepath.Glob(filepath.Join(sourcePartition(dir), "*.log"))
	if err != nil || len(logs) < 2 {
		return 0, fmt.Errorf("%d segments: too little data (%w)", len(logs), err)
	}
	for _, name := range logs[:len(logs)-1] {
		info, err := os.Stat(name)
		if err != nil {
			return 0, err
		}
		dirtyBytes += info.Size()
	}
	return dirtyBytes, nil
}

// sourcePartition is where make puts the files.
func sourcePartition(dir string) string { return filepath.Join(node.DataDir(dir), "source-0") }

func (d *dataset) produce(ctx context.Context, address string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ProducerBatchCompression(d.codec), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(batchBytes), kgo.MaxBufferedRecords(20_000))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := createTopic(ctx, client, "source", "delete"); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := func(_ *kgo.Record, err error) {
		if err != nil {
			cancel(err)
		}
	}
	random, noise := rand.New(rand.NewPCG(1, 2)), rand.NewChaCha8([32]byte{1})
	for range d.records() {
		key := fmt.Appendf(nil, "customer-%011d", random.IntN(d.keys))
		value := make([]byte, d.recordBytes-len(key)-overheadBytes)
		// Half of a value is random, so that codecs have something to do.
		_, _ = noise.Read(value[:len(value)/2]) // It never fails.
		client.Produce(ctx, &kgo.Record{Topic: "source", Key: key, Value: value}, done)
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// place copies the data set into the partition of a stopped broker, which keeps its partition.metadata.
func place(source, partition string) error {
	if _, err := os.Stat(partition); err != nil {
		return err
	}
	for _, dir := range []string{partition, sourcePartition(source)} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Name() == "partition.metadata" {
				continue
			}
			if dir == partition {
				err = os.Remove(filepath.Join(dir, e.Name()))
			} else {
				err = copyFile(filepath.Join(dir, e.Name()), filepath.Join(partition, e.Name()))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := out.ReadFrom(in); err != nil {
		return errors.Join(err, out.Close())
	}
	return errors.Join(out.Sync(), out.Close())
}
