// Package commitlog (import it as commitlog "github.com/ottla/ottla/log") stores partitions.
//
// It owns the log directories: each partition's segments and indexes in Kafka's own on-disk
// format, leader epochs, producer state, the checkpoint files, recovery after a crash, retention
// and the deletion of topics. It knows nothing of leadership, replicas, requests or consumers:
// package replica decides what may be appended and how far a reader may see.
//
// # Threads
//
// A Log may be used from any number of goroutines. Appends, rolls, truncations and deletions take
// the log's mutex; reads take no lock that is held over a write. The four positions are atomics.
// The Manager owns every background goroutine and Close waits for them.
//
// # Durability
//
// Bytes are in the page cache when Append returns, and on disk once Flush (or an Append that
// flush.messages made flush) returned nil. A directory whose fsync failed is offline from then on:
// every call on its logs answers KAFKA_STORAGE_ERROR.
package commitlog
