// Package batch is the record batch format: bytes that clients send, segments hold and
// fetches return.
//
// A magic 2 batch (KIP-98, org.apache.kafka.common.record.internal.DefaultRecordBatch), all
// integers big endian:
//
//	 0  int64  base offset            patched by the broker, outside the CRC
//	 8  int32  batch length           bytes after this field: size - 12
//	12  int32  partition leader epoch patched by the broker, outside the CRC
//	16  int8   magic                  2
//	17  uint32 CRC                    CRC-32C of bytes 21 to the end
//	21  int16  attributes             see Attributes
//	23  int32  last offset delta
//	27  int64  base timestamp         or delete horizon
//	35  int64  max timestamp
//	43  int64  producer id            -1: none
//	51  int16  producer epoch
//	53  int32  base sequence          -1: none
//	57  int32  record count
//	61         records                compressed as one stream, or plain
//
// A record is a varint length and, within it: int8 attributes (0), varlong timestamp delta,
// varint offset delta, varint key length (-1: null) and key, varint value length and value,
// varint header count and headers, each a varint key length and key, a varint value length
// (-1: null) and value. Varints are zig-zag.
//
// The package owns no state but Codecs, the pools of compressors. It reads magic 0 and 1
// (message sets of old log directories) and never writes them. Nothing here trusts a length:
// each is checked against the bytes at hand before it is used, and decompressed data is
// bounded by a limit that the caller gives. All functions are safe for concurrent use on
// different slices; a Batch borrows the slice that it was parsed from.
package batch
