// Package shard drives the coordinators' machines: one shard for each led partition of an internal
// topic, for one leader epoch.
//
// A shard loads by replaying its whole partition, then runs one event at a time: decide, append,
// replay, and answer when the high watermark has passed what was appended. Events wait in a mailbox
// and run on a goroutine that exists only while there is one, so an idle shard costs no more than
// its state; its timers share one clock timer. Losing leadership, or any doubt that state and log
// agree, drops the shard whole: whatever waits is answered NOT_COORDINATOR.
//
// Since records are appended before they are applied, a failed append leaves nothing to undo.
package shard
