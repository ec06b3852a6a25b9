// Package crash ends a running broker in every unfriendly way, under load, starts it again at once and looks whether all that
// was acknowledged is there: once, in order, with the committed offsets. Beside the Go tests, dump.sh has Kafka's own tool
// read every file that a mixed workload wrote, takeover.sh hands partitions from Kafka to Ottla and
// handback.sh from Ottla to Kafka.
//
// OTTLA_BIN names the binary (make build puts it in bin/ottla); -rounds or OTTLA_CRASH_ROUNDS set the number of kills.
package crash
