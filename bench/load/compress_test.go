package load

import (
	"bytes"
	"hash/crc32"
	"io"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestCompressedBatch(t *testing.T) {
	now := time.UnixMilli(1)
	plain, n := makeBatch(16<<10, 1024, now)
	for codec, read := range map[Codec]func([]byte) ([]byte, error){
		LZ4: func(b []byte) ([]byte, error) { return io.ReadAll(lz4.NewReader(bytes.NewReader(b))) },
		Zstd: func(b []byte) ([]byte, error) {
			r, err := zstd.NewReader(nil)
			if err != nil {
				return nil, err
			}
			defer r.Close()
			return r.DecodeAll(b, nil)
		},
	} {
		b, err := compress(plain, n, codec, now)
		if err != nil {
			t.Fatal(err)
		}
		var got kmsg.RecordBatch
		if err := got.ReadFrom(b); err != nil {
			t.Fatal(err)
		}
		if int(got.NumRecords) != n || got.Attributes&7 != int16(codec) || uint32(got.CRC) != crc32.Checksum(b[21:], castagnoli) || int(got.Length) != len(b)-12 {
			t.Errorf("codec %d: header %+v", codec, got)
		}
		records, err := read(got.Records)
		if err != nil || !bytes.Equal(records, plain[batchHeaderBytes:]) {
			t.Errorf("codec %d: %d bytes of records came back, of %d; %v", codec, len(records), len(plain)-batchHeaderBytes, err)
		}
		if d := len(b) - len(plain); d < -64 || d > 64 {
			t.Errorf("codec %d: %d bytes, plain %d; they are to be alike", codec, len(b), len(plain))
		}
	}
	if b, err := compress(plain, n, Plain, now); err != nil || !bytes.Equal(b, plain) {
		t.Errorf("plain isn't itself: %v", err)
	}
	if _, err := compress(plain, n, 7, now); err == nil {
		t.Error("an unknown codec was taken")
	}
}
