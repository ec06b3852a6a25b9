// Package transactions holds the records of __transaction_state as Kafka writes them: what the
// transaction coordinator knows of each transactional id.
//
// A key is its record type (int16) and the fields; a value is its version (int16) and the fields;
// a null value is a tombstone. Types and codecs are generated from Kafka's schemas; AppendKey,
// ReadKey, AppendValue and ReadValue put the frame around them.
package transactions

//go:generate go run ../../gen -package transactions -schemas ../../gen/schemas/transaction-state -out .
