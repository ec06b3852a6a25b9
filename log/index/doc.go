// Package index keeps the three files that lie beside a segment: .index (offset to file position),
// .timeindex (timestamp to offset) and .txnindex (aborted transactions), in Kafka's format.
//
// All numbers are big endian. An entry of .index is
//
//	0  uint32  offset of a batch's last record, minus the segment's base offset
//	4  int32   position of that batch in the .log file
//
// and an entry of .timeindex
//
//	0  int64   largest timestamp (ms) in the segment so far
//	8  uint32  last offset of the batch that has it, minus the segment's base offset
//
// Both only grow: a later entry has a larger offset, and in .timeindex a larger timestamp.
//
// Kafka maps these files into memory and reserves their full size; here they are written like any
// other file and hold nothing but entries. New entries wait in memory until there are enough of
// them, or until Flush: a crash may lose them, and recovery writes them again from the log. What a
// file says is checked before it is used, and ErrCorrupt tells the caller to rebuild it.
//
// The package knows no segment and deletes nothing by itself. Every type may be used from several
// goroutines, with one of them appending.
package index
