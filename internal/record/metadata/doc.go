// Package metadata holds the records of the cluster's metadata log, as KRaft defines them.
//
// A record is a frame version, its record type and its version, each an unsigned varint, and then
// the fields: what Kafka stores in __cluster_metadata. Types and codecs are generated from Kafka's
// schemas; Append and Read put the frame around them. ClusterRecord is the one record that Kafka
// doesn't have (it keeps the cluster id in meta.properties only).
package metadata

//go:generate go run ../../gen -package metadata -schemas ../../gen/schemas/metadata-log -out .
