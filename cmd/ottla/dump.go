package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/dump"
	"github.com/ottla/ottla/internal/vfs"
)

// dumpCommand has the options of Kafka's kafka-dump-log.
type dumpCommand struct {
	Files []string `required:"" sep:"," placeholder:"FILE,..." help:"Segments, indexes, snapshots and checkpoint files."`

	DeepIteration      bool  `help:"Print the records of a segment, not only its batches."`
	PrintDataLog       bool  `help:"Print keys and values too. Set by any decoder option."`
	SkipRecordMetadata bool  `help:"Print nothing but key and value of a record; no control records."`
	IndexSanityCheck   bool  `help:"Make of an index only the check that a start makes of it before using it."`
	VerifyIndexOnly    bool  `help:"Compare indexes with their segment without printing them."`
	MaxMessageSize     int64 `default:"5242880" placeholder:"BYTES" help:"Size of the largest batch that an index may point at."`
	MaxBytes           int64 `default:"2147483647" placeholder:"BYTES" help:"Read this much of a segment."`

	KeyDecoder            string `aliases:"key-decoder-class" placeholder:"NAME" help:"Print keys as text, hex, integer or long. The stock tool's classes are known too."`
	ValueDecoder          string `aliases:"value-decoder-class" placeholder:"NAME" help:"Print values as text, hex, integer or long."`
	OffsetsDecoder        bool   `help:"Decode the records of __consumer_offsets."`
	TransactionLogDecoder bool   `help:"Decode the records of __transaction_state."`

	ShareGroupStateDecoder bool `help:"Decode the records of __share_group_state."`
	ClusterMetadataDecoder bool `help:"Decode the records of Kafka's __cluster_metadata and its snapshots."`
}

// Run dumps the files. Damage found in them is the error.
func (c *dumpCommand) Run() error {
	o := dump.Options{
		Files: c.Files, DeepIteration: c.DeepIteration, PrintDataLog: c.PrintDataLog,
		SkipRecordMetadata: c.SkipRecordMetadata, IndexSanityCheck: c.IndexSanityCheck, VerifyIndexOnly: c.VerifyIndexOnly,
		MaxMessageSize: c.MaxMessageSize, MaxBytes: c.MaxBytes,
	}
	var err error
	if o.Key, err = decoder("key", c.KeyDecoder); err != nil {
		return err
	}
	if o.Value, err = decoder("value", c.ValueDecoder); err != nil {
		return err
	}
	switch {
	case c.OffsetsDecoder:
		o.Records = dump.Offsets
	case c.TransactionLogDecoder:
		o.Records = dump.Transactions
	case c.ShareGroupStateDecoder:
		o.Records = dump.ShareGroupState
	case c.ClusterMetadataDecoder:
		o.Records = dump.ClusterMetadata
	}
	o.PrintDataLog = o.PrintDataLog || o.Key != nil || o.Value != nil || o.Records != nil
	return dump.Run(vfs.OS{}, os.Stdout, os.Stderr, o)
}

// decoder finds a decoder by name; none is nil.
func decoder(of, name string) (dump.Decoder, error) {
	if name == "" {
		return nil, nil
	}
	d, ok := dump.Decoders[name]
	if !ok {
		var known []string
		for n := range dump.Decoders {
			known = append(known, n)
		}
		slices.Sort(known)
		return nil, fmt.Errorf("unknown %s decoder %q; known are %s", of, name, strings.Join(known, ", "))
	}
	return d, nil
}
