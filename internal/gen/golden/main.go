// Command golden prints the records of log segments written by Kafka, one a line: key and value
// in hex, "-" for null. It reads uncompressed segments only; control batches are left out. The
// golden files of the generated packages were recorded with it:
//
//	go run ./internal/gen/golden KAFKA_LOG_DIR/__consumer_offsets-*/*.log
package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func main() {
	for _, name := range os.Args[1:] {
		if err := dump(name); err != nil {
			fmt.Fprintf(os.Stderr, "golden: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

const (
	compressionMask = 0x07
	controlBit      = 0x20
	// sizeOffset is where a batch's length field ends.
	sizeOffset = 12
)

func dump(name string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for len(src) >= sizeOffset {
		r := kbin.Reader{Src: src[8:]}
		size := sizeOffset + int(r.Int32())
		if size <= sizeOffset || size > len(src) {
			return nil // the preallocated or torn end
		}
		var b kmsg.RecordBatch
		if err := b.ReadFrom(src[:size]); err != nil {
			return err
		}
		src = src[size:]
		if b.Attributes&compressionMask != 0 {
			return errors.New("compressed batch")
		}
		if b.Attributes&controlBit != 0 {
			continue
		}
		records := kbin.Reader{Src: b.Records}
		for range b.NumRecords {
			var rec kmsg.Record
			n := int(records.Varint())
			body := kbin.AppendVarint(nil, int32(n))
			if err := rec.ReadFrom(append(body, records.Span(n)...)); err != nil {
				return err
			}
			fmt.Println(text(rec.Key), text(rec.Value))
		}
	}
	return nil
}

func text(b []byte) string {
	if b == nil {
		return "-"
	}
	return hex.EncodeToString(b)
}
