package shard_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/ottla/ottla/coordinator/shard/shardtest"
	"github.com/ottla/ottla/log/batch"
)

// strangeLog is a log that tells of more than it has, or fails to hand it out.
type strangeLog struct {
	*shardtest.Log
	end  int64
	read func(offset int64) ([]byte, error)
}

func (l *strangeLog) EndOffset() int64 {
	if l.end != 0 {
		return l.end
	}
	return l.Log.EndOffset()
}

func (l *strangeLog) Read(offset int64, maxBytes int) ([]byte, error) {
	if l.read != nil {
		return l.read(offset)
	}
	return l.Log.Read(offset, maxBytes)
}

func appendBatch(t *testing.T, log *shardtest.Log, change func(*batch.BuilderOptions), keys ...string) {
	t.Helper()
	o := batch.DefaultOptions()
	o.LeaderEpoch = 1
	if change != nil {
		change(&o)
	}
	b := batch.NewCodecs().NewBuilder(nil, o)
	for _, k := range keys {
		var key []byte
		if k != "" {
			key = []byte(k)
		}
		b.Append(1, key, []byte("value"))
	}
	raw, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := log.Append(raw, 1); err != nil {
		t.Fatal(err)
	}
}

// TestLoadsWhatKafkaWrote: compressed batches are read, control batches and records without a key
// are passed over.
func TestLoadsWhatKafkaWrote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, a := shardtest.NewLog(1), &answers{}
		appendBatch(t, log, nil, "a", "", "b")
		for _, codec := range []batch.Codec{batch.Gzip, batch.Snappy, batch.LZ4, batch.Zstd} {
			appendBatch(t, log, func(o *batch.BuilderOptions) { o.Codec = codec }, "c"+codec.String())
		}
		appendBatch(t, log, func(o *batch.BuilderOptions) {
			o.Control, o.Transactional, o.ProducerID, o.ProducerEpoch = true, true, 1, 0
		}, "\x00\x00\x00\x01")
		appendBatch(t, log, nil, "z")
		s := start(config(), log, 1, &notes{})
		synctest.Wait()
		s.Submit("read", a.done)
		a.expect(t, "a,b,cgzip,csnappy,clz4,czstd,z")
		s.Resign(nil)
		s.Wait()
	})
}

// TestLoadOfABadLog: a log that ends before it says, that can't be decoded, or that inflates to
// more than is allowed drops the shard; none of it is passed over silently.
func TestLoadOfABadLog(t *testing.T) {
	for name, log := range map[string]func(*shardtest.Log) *strangeLog{
		"shorter than it says": func(l *shardtest.Log) *strangeLog { return &strangeLog{Log: l, end: 5} },
		"always the same batch": func(l *shardtest.Log) *strangeLog {
			return &strangeLog{Log: l, end: 5, read: func(int64) ([]byte, error) { return l.Read(0, 1000) }}
		},
		"cut in a batch": func(l *shardtest.Log) *strangeLog {
			return &strangeLog{Log: l, read: func(int64) ([]byte, error) { b, err := l.Read(0, 1000); return b[:len(b)-1], err }}
		},
		"corrupt records": func(l *shardtest.Log) *strangeLog {
			return &strangeLog{Log: l, read: func(int64) ([]byte, error) {
				b, err := l.Read(0, 1000)
				copy(b[batch.HeaderSize:], "\xff\xff\xff\xff\xff\xff")
				return b, err
			}}
		},
		"unreadable": func(l *shardtest.Log) *strangeLog {
			return &strangeLog{Log: l, read: func(int64) ([]byte, error) { return nil, errors.New("disk") }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner, a := shardtest.NewLog(1), &answers{}
				appendBatch(t, inner, nil, "a", "b")
				s := startOn(config(), log(inner), 1, &notes{})
				s.Wait()
				s.Submit("read", a.done)
				a.expect(t, "NOT_COORDINATOR")
			})
		})
	}
	t.Run("too large when inflated", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			inner, a, cfg := shardtest.NewLog(1), &answers{}, config()
			cfg.MaxDecompressedBytes = 10
			appendBatch(t, inner, func(o *batch.BuilderOptions) { o.Codec = batch.Gzip }, "a", "b")
			s := start(cfg, inner, 1, &notes{})
			s.Wait()
			s.Submit("read", a.done)
			a.expect(t, "NOT_COORDINATOR")
		})
	})
}
