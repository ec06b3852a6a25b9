// Package clean decides what log compaction keeps.
//
// It holds the parts that do no I/O: which part of a log is clean, dirty and not to be touched yet (Measure,
// Group), where each key was written last (OffsetMap, Filler), which transactions were aborted
// (Transactions), and what is left of a batch (Filter), as well as the rate limit (Throttle). Package log
// reads and writes the segments and owns the threads. Nothing here may be used by two goroutines at once,
// but Throttle.
//
// The rules are Kafka's: Cleaner and LogCleanerManager of its storage module, MemoryRecords.filterTo, and
// KIP-534 for the delete horizon.
package clean
