// Package isr is a leader's view of its followers: how far each has come, which of them are in sync, what
// is committed, and which change of the ISR to ask the controller for.
//
// It is pure: time is an argument, and nothing here blocks, logs or sends. A State belongs to one
// partition and to whoever holds that partition's lock.
//
// The rules are those of KIP-497 (ISR changes through the controller), KIP-841 (no fenced broker in an
// ISR), KIP-903 (nor a former life of a broker) and KIP-966 (nothing is committed by too few).
package isr
