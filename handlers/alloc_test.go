package handlers

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/wire"
)

// nowhere is a Slot that releases what it is given.
type nowhere struct{}

func (nowhere) Complete(r wire.Reply) {
	for _, c := range r.Chunks {
		if c.File != nil {
			c.File.Release()
		}
	}
}
func (nowhere) Proceed()       {}
func (nowhere) ReleaseFrame()  {}
func (nowhere) OnClose(func()) {}

// serve runs a decoded request on its own, as a connection does.
func (b *broker) serve(req kmsg.Request) {
	b.h.ServeRequest(wire.NewRequest(wire.Header{Key: req.Key(), Version: req.GetVersion()}, req, b.session, nowhere{}, time.Time{}))
}

// The allocations of the two hot paths, without decoding; a regression shows here.

func TestFetchAllocations(t *testing.T) {
	b := newBroker(t, nil)
	id := b.create("t", 1)
	b.mustProduce("t", 0, "a", "b")
	full := fetchRequest(17, "", id, 0, 0)
	full.SessionEpoch = 0
	session := ask[*kmsg.FetchResponse](b, full).SessionID
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxBytes, req.SessionID, req.SessionEpoch, req.MinBytes = 17, 1<<20, session, 0, 1
	got := testing.AllocsPerRun(500, func() {
		req.SessionEpoch++
		b.serve(req)
	})
	// The request itself, which a connection has in its slot; bytes and chunks of the answer; the held range. Under
	// the race detector pools lose some of what they have.
	if got > 6 {
		t.Errorf("a fetch allocates %.0f times", got)
	}
	t.Logf("%.1f allocations a fetch", got)
}

func TestProduceAllocations(t *testing.T) {
	b := newBroker(t, nil)
	id := b.create("t", 1)
	records := oneRecord("some value").bytes()
	req := produceRequest(11, -1, "t", id, records)
	got := testing.AllocsPerRun(500, func() {
		clear(records[:8]) // The base offset, which the last append patched.
		b.serve(req)
	})
	if end := b.end(0); end < 500 {
		t.Fatalf("log end %d: appends failed", end)
	}
	// The request itself, which a connection has in its slot; and what pools lose under the race detector.
	if got > 3 {
		t.Errorf("a produce allocates %.0f times", got)
	}
	t.Logf("%.1f allocations a produce", got)
}

// FuzzProduceRecords appends arbitrary bytes: they are refused, or read back as one whole batch.
func FuzzProduceRecords(f *testing.F) {
	f.Add(oneRecord("v").bytes(), int16(9))
	f.Add(oneRecord("v", "w").bytes()[:70], int16(3))
	f.Add([]byte{}, int16(13))
	f.Fuzz(func(t *testing.T, records []byte, version int16) {
		version = 3 + (version&0x7fff)%11
		b := newBroker(t, nil)
		id := b.create("t", 1)
		name := "t"
		if version >= 13 {
			name = ""
		}
		sent := len(records)
		p := ask[*kmsg.ProduceResponse](b, produceRequest(version, 1, name, id, append([]byte{}, records...))).Topics[0].Partitions[0]
		fetch := fetchRequest(12, "t", id, 0, 0)
		fetch.MaxWaitMillis = 0
		read := ask[*kmsg.FetchResponse](b, fetch).Topics[0].Partitions[0]
		if p.ErrorCode != 0 {
			if read.HighWatermark != 0 || len(read.RecordBatches) != 0 {
				t.Fatalf("refused with error %d, and %d bytes are in the log", p.ErrorCode, len(read.RecordBatches))
			}
			return
		}
		if read.HighWatermark < 1 || len(read.RecordBatches) == 0 || len(read.RecordBatches) > sent {
			t.Fatalf("accepted %d bytes; high watermark %d, %d bytes read", sent, read.HighWatermark, len(read.RecordBatches))
		}
		b.apply(&metadata.RemoveTopicRecord{TopicID: id})
	})
}
