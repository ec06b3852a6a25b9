// Package replica is the partitions that this broker holds: which of them it leads and in which
// epoch, their high watermarks, who waits for them to move, who follows them, and whom it follows.
//
// It owns leadership and replication state, and stands on package commitlog for the bytes. It is
// called by the handlers of Produce, Fetch and the like, by the coordinators, and by the publisher
// of cluster metadata (ApplyImage, the only call that changes leadership). It knows no request
// types of clients and no connections: it reaches other brokers and the controller through Peers and
// ISRChanges.
//
// Threading: every method may be called from any goroutine. Fetchers have a goroutine each. Lock order:
// fetchers.mu, then fetcher.mu, then Partition.mu, then the log's own lock, then Partition.positions, then
// waitList.mu and that of the ISR changes. Partition.mu is held over the log's writes on purpose (for
// reading over an append, for writing over the start of a leader epoch): leadership must not move between
// a decision and its write. Readers take it for reading only. Nothing is called back under a lock: whoever
// waits is marked ready and runs on a goroutine of its own.
package replica
