// Package image is the cluster's metadata as an immutable value.
//
// An Image is what a sequence of metadata records says: topics, partitions, brokers,
// controllers, configs, feature levels and the next producer id. It is made by Apply, which
// copies what the records change and shares everything else with the image it started from, so
// an image costs little and stays valid for whoever holds it. Any number of goroutines may read
// an image; nothing may change what its accessors return.
//
// Apply depends on nothing but its arguments (no clock, no random source, no map order): every
// node that applies the same records has the same image. The package knows neither raft nor
// files; package controller puts records in order and swaps images.
package image
