// Package offsets holds the records of __consumer_offsets as Kafka writes them: committed offsets
// and the classic, consumer, share and streams groups.
//
// A key is its record type (int16) and the fields; a value is its version (int16) and the fields;
// a null value is a tombstone. Types and codecs are generated from Kafka's schemas; AppendKey,
// ReadKey, AppendValue and ReadValue put the frame around them.
package offsets

//go:generate go run ../../gen -package offsets -schemas ../../gen/schemas/consumer-offsets -out .
