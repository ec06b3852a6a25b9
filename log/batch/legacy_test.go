package batch

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestLegacy reads message sets of magic 0 and 1 that Kafka's library wrote (testdata/README.md):
// offsets 100 to 104, relative inside compressed ones of magic 1.
func TestLegacy(t *testing.T) {
	codecs := NewCodecs()
	for magic := MagicV0; magic <= MagicV1; magic++ {
		for _, codec := range []Codec{None, Gzip, Snappy, LZ4} {
			name := fmt.Sprintf("magic%d-%s", magic, codec)
			n := 0
			for b, err := range All(readFile(t, "testdata/"+name+".log")) {
				if err != nil {
					t.Fatal(name, err)
				}
				if b.Magic != magic || b.Attributes.Codec() != codec || b.CheckCRC() != nil || b.NumRecords != -1 || b.HasProducerID() {
					t.Errorf("%s: %+v", name, b.Header)
				}
				r, err := codecs.Records(&b, 1<<20)
				if err != nil {
					t.Fatal(name, err)
				}
				var rec Record
				for ; r.Next(&rec); n++ {
					key, value, timestamp := []byte(fmt.Sprint("key-", n)), []byte(fmt.Sprint("value of a legacy message ", n)), int64(5000+n)
					if n == 3 {
						key = nil
					}
					if n == 4 {
						value = nil
					}
					if magic == MagicV0 {
						timestamp = NoTimestamp
					}
					if rec.Offset != int64(100+n) || rec.Timestamp != timestamp || !equalNullable(rec.Key, key) || !equalNullable(rec.Value, value) || rec.HasKey() != (key != nil) {
						t.Errorf("%s: record %+v", name, rec)
					}
				}
				if r.Err() != nil {
					t.Error(name, r.Err())
				}
				if codec != None && b.LastOffset() != 104 {
					t.Errorf("%s: last offset %d", name, b.LastOffset())
				}
				r.Close()
			}
			if n != 5 {
				t.Errorf("%s: %d records", name, n)
			}
		}
	}
}

// TestLegacyDamaged changes each byte of compressed sets in turn: either the CRC shows it or the
// message isn't taken for one.
func TestLegacyDamaged(t *testing.T) {
	for _, name := range []string{"magic0-lz4", "magic1-gzip"} {
		whole := readFile(t, "testdata/"+name+".log")
		for i := legacyPosCRC; i < len(whole); i++ {
			b := bytes.Clone(whole)
			b[i] ^= 0x10
			damaged, _, err := Parse(b)
			if err == nil {
				err = damaged.CheckCRC()
			}
			if !errors.Is(err, kerr.CorruptMessage) {
				t.Errorf("%s: byte %d: %v", name, i, err)
			}
		}
	}
}
