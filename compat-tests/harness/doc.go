// Package harness starts a broker of its own for a test: Ottla from its binary or Kafka from its jars, on
// free ports of loopback, with its data in a directory that the caller gives it. The tests themselves only see
// an address, so that the same ones run against any broker that BOOTSTRAP names.
package harness
