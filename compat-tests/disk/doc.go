// Package disk fills the device of a running broker, a small tmpfs of the test's own, and looks whether the broker bears it: with
// its free-space floor, and without one down to the last byte.
//
// It must run in a mount namespace of its own, as root of it: run.sh sees to that. OTTLA_BIN names the binary.
package disk
