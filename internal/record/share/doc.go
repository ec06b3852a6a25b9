// Package share holds the records of __share_group_state as Kafka writes them: what the share coordinator knows
// of each partition that a share group reads.
//
// Keys and values are framed as those of __consumer_offsets are. Types and codecs are generated from Kafka's
// schemas.
package share

//go:generate go run ../../gen -package share -schemas ../../gen/schemas/share-group-state -out .
