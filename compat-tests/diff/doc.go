// Package diff plays scripted requests against a broker and compares the decoded answers, field by
// field, with those recorded from Apache Kafka 4.4.0.
//
// A case (package cases) is a short script of requests at chosen versions, typed or raw, on its own
// connections, topics and groups, so that cases run in any order and side by side. Playing it makes a
// Transcript: for each step the answer as lines of "path: field=value", in which whatever differs
// between two runs of the same broker (names, ids, times, addresses) has been replaced by aliases
// (normalise.go). The transcript of the oracle is kept as a golden file, one a case, in ../golden;
// Compare lists where another transcript departs from it, less what deliberate.go allows.
//
// Nothing here negotiates versions or retries: a Conn writes frames and reads frames.
//
// Recording again: start Kafka 4.4.0 with the lines of oracle.properties in its server.properties, then
//
//	go run ./diff/cmd/record 127.0.0.1:9092
package diff
