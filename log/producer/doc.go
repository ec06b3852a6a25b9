// Package producer is what a partition remembers of its producers: the last five batches of
// each idempotent producer (KIP-98, KIP-360), open transactions, the coordinator epochs of
// their markers, and verifications under way (KIP-890). It is the oracle's
// ProducerStateManager without its files.
//
// State is pure: no clock, file or lock. Check decides about a batch without changing
// anything; Replay takes a batch that is in the log. Live appends call Check, write, then
// Replay; recovery and followers call Replay alone, so both reach the same state. The caller
// holds the partition's lock.
package producer
