// Package dump prints the files of a log directory for people: what ottla dump-log does.
//
// Lines for segments, indexes, transaction indexes and producer snapshots are those of Kafka's
// kafka-dump-log, character by character, so that scripts which read them go on working. Files
// that the stock tool passes over (checkpoints, leader epochs, partition.metadata,
// meta.properties, the marker of a clean stop) are printed in the same manner.
//
// Where it departs from the stock tool:
//   - damage is told in one line with file and position, the rest of the files is still dumped, and
//     Run returns an error; the stock tool stops with a stack trace, or says nothing of it with
//     its exit code;
//   - nothing is created or written: the stock tool makes an index file that isn't there;
//   - the first record of a segment that doesn't begin at offset 0 isn't told to follow offset -1;
//   - control records of Kafka's metadata log are read in the version that they name, the stock tool fails on
//     any but 0;
//   - binary values can be shown in hex.
//
// Everything is read through vfs. Memory is bounded by the largest batch of a segment and by the
// size of the small files; a dump may be run beside a broker.
package dump
