// Command transactional writes transactions into partitions of a stopped broker's log directory, through package log as
// a broker does it: for files with transactions while no API makes them.
//
//	go run ./log/testdata/transactional LOG_DIR TOPIC:CODEC:POLICY...
//
// CODEC is none, gzip, snappy, lz4 or zstd; POLICY is delete or compact.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/uuid"
	"github.com/ottla/ottla/internal/vfs"
	commitlog "github.com/ottla/ottla/log"
	"github.com/ottla/ottla/log/batch"
)

const (
	partitions = 2
	// transactions of each producer, batches of each of them, records of each batch.
	transactions, batches, records = 10, 6, 25
	segmentBytes                   = 1 << 20
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: transactional LOG_DIR TOPIC:CODEC:POLICY...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, topics []string) (err error) {
	configs := map[string]commitlog.Config{}
	codecs := map[string]batch.Codec{}
	for _, arg := range topics {
		f := strings.Split(arg, ":")
		if len(f) != 3 {
			return fmt.Errorf("%q isn't TOPIC:CODEC:POLICY", arg)
		}
		c := commitlog.DefaultConfig()
		c.SegmentBytes, c.Compact, c.Delete = segmentBytes, f[2] == "compact", f[2] == "delete"
		configs[f[0]] = c
		for codec := batch.None; codec <= batch.Zstd; codec++ {
			if codec.String() == f[1] {
				codecs[f[0]] = codec
			}
		}
	}
	m, err := commitlog.Open(context.Background(), vfs.OS{}, clock.System{}, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		commitlog.ManagerConfig{
			Dirs: []string{dir}, NodeID: 1, ProducerIDExpiration: 24 * time.Hour,
			TopicConfig: func(topic string) commitlog.Config {
				if c, ok := configs[topic]; ok {
					return c
				}
				return commitlog.DefaultConfig()
			},
			NewUUID: func() [16]byte { return uuid.New(rand.Uint64) },
		})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	for topic := range configs {
		for p := range int32(partitions) {
			l, ok := m.Get(topic, p)
			if !ok {
				return fmt.Errorf("there is no partition %s-%d", topic, p)
			}
			if err := write(l, codecs[topic]); err != nil {
				return fmt.Errorf("%s-%d: %w", topic, p, err)
			}
		}
	}
	return nil
}

// write appends transactions of two producers by turns, which overlap. Every third one is aborted.
func write(l *commitlog.Log, codec batch.Codec) error {
	epoch := max(l.LatestEpoch(), 0)
	c := batch.NewCodecs()
	sequences := [2]int32{}
	n := 0
	for round := range 2 * transactions * batches {
		producer := round % 2
		o := batch.DefaultOptions()
		o.Codec, o.Transactional = codec, true
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = int64(70_000+producer), 3, sequences[producer]
		b := c.NewBuilder(nil, o)
		for range records {
			value := bytes.Repeat(fmt.Appendf(nil, "%d ", n), 20+n%3*100)
			if n%10 == 0 {
				value = nil
			}
			b.Append(time.Now().UnixMilli(), fmt.Appendf(nil, "key-%d", n%100), value)
			n++
		}
		sequences[producer] += records
		if err := appendBatch(l, b, epoch, commitlog.OriginClient); err != nil {
			return err
		}
		// The second producer ends its transactions half a one later.
		if step := round/2 + producer*batches/2; step%batches == batches-1 {
			marker := batch.AppendEndTxnMarker(nil, time.Now().UnixMilli(), o.ProducerID, o.ProducerEpoch,
				batch.EndTxnMarker{Commit: step/batches%3 != 1, CoordinatorEpoch: 5})
			if _, err := l.Append(marker, commitlog.AppendOptions{LeaderEpoch: epoch, Origin: commitlog.OriginCoordinator}); err != nil {
				return err
			}
		}
		l.SetHighWatermark(l.LogEndOffset())
	}
	// The end of what the second producer left open.
	marker := batch.AppendEndTxnMarker(nil, time.Now().UnixMilli(), 70_001, 3, batch.EndTxnMarker{Commit: true, CoordinatorEpoch: 5})
	_, err := l.Append(marker, commitlog.AppendOptions{LeaderEpoch: epoch, Origin: commitlog.OriginCoordinator})
	l.SetHighWatermark(l.LogEndOffset())
	return err
}

func appendBatch(l *commitlog.Log, b *batch.Builder, epoch int32, origin commitlog.Origin) error {
	raw, err := b.Build()
	if err != nil {
		return err
	}
	_, err = l.Append(raw, commitlog.AppendOptions{LeaderEpoch: epoch, Origin: origin})
	return err
}
