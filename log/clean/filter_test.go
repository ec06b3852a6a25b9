package clean

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/ottla/ottla/log/batch"
)

var testCodecs = batch.NewCodecs()

var testLimits = batch.ReadLimits{TotalBytes: 1 << 20, RecordBodyBytes: batch.MaxRecordBodyBytes}

func TestOffsetMap(t *testing.T) {
	t.Parallel()
	m := NewOffsetMap(10*slotBytes, 0.5, 0, 1000, [16]byte{1})
	for i := range 5 {
		if !m.Put([]byte(strconv.Itoa(i)), int64(i)) {
			t.Fatalf("full at key %d", i)
		}
	}
	if m.Put([]byte("more"), 5) || m.Len() != 5 || m.Latest() != 4 {
		t.Errorf("%d keys up to offset %d in a map for five", m.Len(), m.Latest())
	}
	m.Extend(9)
	m.Extend(7)
	if m.Get([]byte("3")) != 3 || m.Get([]byte("x")) != -1 || m.Latest() != 9 {
		t.Errorf("3 at %d, x at %d, latest %d", m.Get([]byte("3")), m.Get([]byte("x")), m.Latest())
	}
	small := NewOffsetMap(1<<40, 0.9, 0, 10, [16]byte{2})
	for i := range 10 {
		if !small.Put([]byte(strconv.Itoa(i%3)), int64(i)) {
			t.Fatal("a map made for ten keys is full")
		}
	}
	if small.Get([]byte("0")) != 9 || small.Len() != 3 {
		t.Errorf("0 at %d of %d keys", small.Get([]byte("0")), small.Len())
	}
	if one := NewOffsetMap(0, 0, 0, 0, [16]byte{}); !one.Put(nil, 0) || one.Put(nil, 1) {
		t.Error("a map without memory has room for one key")
	}
}

// FuzzFilter compacts arbitrary batches: no panic, offsets and producer of what is left are the batch's,
// its checksum is right, and compacting it again changes nothing.
func FuzzFilter(f *testing.F) {
	for codec := batch.None; codec <= batch.Zstd; codec++ {
		o := batch.DefaultOptions()
		o.Codec, o.BaseOffset, o.ProducerID, o.ProducerEpoch, o.BaseSequence = codec, 5, 1, 2, 3
		o.Transactional = codec == batch.LZ4
		b := testCodecs.NewBuilder(nil, o)
		b.Append(1000, []byte("a"), []byte("1"))
		b.Append(1001, []byte("b"), nil)
		b.Append(1002, []byte("a"), []byte("2"), batch.RecordHeader{Key: "h", Value: []byte("v")})
		b.Append(1003, nil, []byte("no key"))
		raw, err := b.Build()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, int64(20), false)
		f.Add(raw, int64(9), true)
	}
	f.Add(batch.AppendEndTxnMarker(nil, 1000, 1, 2, batch.EndTxnMarker{Commit: true}), int64(1), true)
	f.Fuzz(func(t *testing.T, raw []byte, roundEnd int64, last bool) {
		b, behind, err := batch.Parse(raw)
		if err != nil || b.LastOffset() < b.BaseOffset {
			return
		}
		raw = raw[:len(raw)-len(behind)]
		fill := Filler{Map: NewOffsetMap(1<<12, 0.9, 0, 100, [16]byte{3}), Codecs: testCodecs, Limits: testLimits, Txns: NewTransactions()}
		if _, err := fill.Add(&b); err != nil {
			return
		}
		filter := func(raw []byte) ([]byte, bool, error) {
			one, _, err := batch.Parse(raw)
			if err != nil {
				t.Fatalf("what is left: %v", err)
			}
			fl := Filter{Map: fill.Map, Codecs: testCodecs, Limits: testLimits, Txns: NewTransactions(), NowMs: 2000,
				DeleteRetentionMs: 1000, RoundEnd: roundEnd, Aborted: func(AbortedTxn) error { return nil }}
			if last {
				fl.LastRecords = map[int64]LastRecord{b.ProducerID: {LastDataOffset: b.LastOffset()}}
			}
			return fl.Append(nil, &one)
		}
		out, _, err := filter(raw)
		if err != nil || len(out) == 0 {
			return
		}
		left, rest, err := batch.Parse(out)
		if err != nil || len(rest) != 0 {
			t.Fatalf("%d bytes after the batch, %v", len(rest), err)
		}
		if b.Magic < batch.MagicV2 {
			return
		}
		if left.BaseOffset != b.BaseOffset || left.LastOffset() != b.LastOffset() || left.ProducerID != b.ProducerID ||
			left.ProducerEpoch != b.ProducerEpoch || left.LastSequence() != b.LastSequence() || left.LeaderEpoch != b.LeaderEpoch {
			t.Fatalf("%+v became %+v", b.Header, left.Header)
		}
		if bytes.Equal(out, raw) {
			return
		}
		if err := left.CheckCRC(); err != nil {
			t.Fatal(err)
		}
		if again, _, err := filter(out); err != nil || !bytes.Equal(again, out) && len(again) > 0 {
			t.Fatalf("compacted again: %d bytes became %d, %v", len(out), len(again), err)
		}
	})
}
