package producer

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"testing"

	"github.com/ottla/ottla/log/batch"
)

// goldenOffset is the offset of the snapshot that Kafka wrote when it rolled the segment.
const goldenOffset = 52

func readFile(t testing.TB, name string) []byte {
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// replayGolden replays the segment that Kafka 4.4.0 wrote; see testdata/record.
func replayGolden(t *testing.T) (*State, []CompletedTxn) {
	s := New(Config{Topic: "t", ExpirationMs: 86_400_000})
	var completed []CompletedTxn
	for b, err := range batch.All(readFile(t, "testdata/kafka.log")) {
		if err != nil {
			t.Fatal(err)
		}
		c, ok, err := s.Replay(&b)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			completed = append(completed, c)
		}
	}
	return s, completed
}

// TestSnapshotEqualsKafkas replays a segment of Kafka's with more than 20 producers: idempotent
// ones, one whose sequence wrapped, a committed, an aborted and an open transaction. The
// snapshot must be the bytes that Kafka wrote, also after it was loaded, and the ended
// transactions those of Kafka's .txnindex.
func TestSnapshotEqualsKafkas(t *testing.T) {
	want := readFile(t, "testdata/00000000000000000052.snapshot")
	s, completed := replayGolden(t)
	if s.MapEndOffset() != goldenOffset {
		t.Errorf("MapEndOffset = %d", s.MapEndOffset())
	}
	if got := s.AppendSnapshot(nil); !bytes.Equal(got, want) {
		t.Errorf("snapshot after replay\n%x\nKafka's\n%x", got, want)
	}
	loaded := New(Config{ExpirationMs: 86_400_000})
	if err := loaded.LoadSnapshot(want, goldenOffset, 1795969942000); err != nil {
		t.Fatal(err)
	}
	if got := loaded.AppendSnapshot([]byte("kept"))[4:]; !bytes.Equal(got, want) {
		t.Errorf("snapshot after load\n%x\nKafka's\n%x", got, want)
	}
	if !slices.Equal(loaded.ActiveProducers(), s.ActiveProducers()) || loaded.MapEndOffset() != goldenOffset {
		t.Error("producers after load differ from those after replay")
	}
	for _, s := range []*State{s, loaded} {
		s.OnHighWatermark(goldenOffset)
		if first, ok := s.FirstUnstableOffset(); !ok || first != 51 {
			t.Errorf("FirstUnstableOffset = %d, %v: the open transaction begins at 51", first, ok)
		}
	}
	if len(completed) != 2 || completed[0].Aborted || !completed[1].Aborted {
		t.Fatalf("completed %+v", completed)
	}
	index := readFile(t, "testdata/kafka.txnindex")
	c := completed[1]
	var entry []byte
	for _, v := range []int64{c.ProducerID, c.FirstOffset, c.LastOffset, c.LastStableOffset} {
		entry = binary.BigEndian.AppendUint64(entry, uint64(v))
	}
	if !bytes.Equal(entry, index[2:]) {
		t.Errorf("aborted transaction %+v isn't Kafka's %x", c, index)
	}
}

// TestLoadSnapshotRefuses damages a snapshot in each of its parts; the state must stay.
func TestLoadSnapshotRefuses(t *testing.T) {
	good := readFile(t, "testdata/00000000000000000052.snapshot")
	s, _ := replayGolden(t)
	before := s.ActiveProducers()
	damage := map[string][]byte{
		"empty": {}, "head only": good[:9], "cut": good[:len(good)-1],
		"version": append([]byte{0, 2}, good[2:]...),
	}
	for _, at := range []int{3, 7, 20, len(good) - 1} {
		b := bytes.Clone(good)
		b[at] ^= 0x80
		damage["byte "+string(rune('a'+at%26))] = b
	}
	for name, b := range damage {
		if err := s.LoadSnapshot(b, 99, 0); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
	if s.MapEndOffset() != goldenOffset || !slices.Equal(before, s.ActiveProducers()) {
		t.Error("a refused snapshot changed the state")
	}
}

// FuzzProducerSnapshot loads any bytes, also with the CRC put right: no panic, memory bounded
// by the file, and what was loaded survives being written and loaded again.
func FuzzProducerSnapshot(f *testing.F) {
	f.Add(readFile(f, "testdata/00000000000000000052.snapshot"))
	f.Add([]byte{0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) >= snapshotHeadBytes {
			binary.BigEndian.PutUint32(file[2:], snapshotChecksum(file))
		}
		s := New(Config{ExpirationMs: 1 << 40})
		if s.LoadSnapshot(file, 7, 0) != nil {
			return
		}
		if s.Len()*snapshotEntryBytes > len(file) {
			t.Fatalf("%d producers in %d bytes", s.Len(), len(file))
		}
		again := New(Config{ExpirationMs: 1 << 40})
		if err := again.LoadSnapshot(s.AppendSnapshot(nil), 7, 0); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.ActiveProducers(), again.ActiveProducers()) {
			t.Fatal("producers changed")
		}
	})
}
