// Command record makes offsets.log, transactions.log, metadata.log and share.log, segments whose records the stock tool is
// then asked to decode; see the README beside.
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"github.com/ottla/ottla/internal/record/transactions"
	"github.com/ottla/ottla/log/batch"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run reads golden records, key and value in hex a line, and writes both segments to a directory.
func run(golden, dir string) error {
	f, err := os.Open(golden)
	if err != nil {
		return err
	}
	defer f.Close()
	o := batch.DefaultOptions()
	b := batch.NewCodecs().NewBuilder(nil, o)
	for s := bufio.NewScanner(f); s.Scan(); {
		var rec [2][]byte
		for i, w := range strings.Fields(s.Text()) {
			if w == "-" {
				continue
			}
			if rec[i], err = hex.DecodeString(w); err != nil {
				return err
			}
		}
		b.Append(1000, rec[0], rec[1])
	}
	b.Append(1001, []byte{0, 99, 0, 0}, []byte{0, 0}) // A type that nobody knows.
	if err := build(b, dir+"/offsets.log"); err != nil {
		return err
	}
	b = batch.NewCodecs().NewBuilder(nil, o)
	for status := range int8(9) {
		var v transactions.TransactionLogValue
		v.Reset()
		v.ProducerID, v.ProducerEpoch, v.TransactionTimeoutMs, v.TransactionStatus = 7, 1, 60000, status
		if status%2 == 1 {
			v.TransactionPartitions = []transactions.TransactionLogValuePartitionsSchema{{Topic: "a\"\\\t\u0001é", PartitionIDs: []int32{0, 2}}}
			v.PreviousProducerID, v.NextProducerID, v.NextProducerEpoch, v.ClientTransactionVersion = 7, 8, 3, 2
		}
		key := transactions.AppendKey(nil, &transactions.TransactionLogKey{TransactionalID: "tx"})
		b.Append(2000, key, transactions.AppendValue(nil, &v, int16(status)%2))
		if status == 8 {
			b.Append(2001, key, nil)
		}
	}
	if err := build(b, dir+"/transactions.log"); err != nil {
		return err
	}
	if err := recordMetadata(dir + "/metadata.log"); err != nil {
		return err
	}
	return recordShare(dir + "/share.log")
}

func build(b *batch.Builder, name string) error {
	raw, err := b.Build()
	if err != nil {
		return err
	}
	return os.WriteFile(name, raw, 0o644)
}
