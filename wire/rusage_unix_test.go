//go:build unix

package wire

import (
	"testing"

	"golang.org/x/sys/unix"
)

// cpuMicros is the CPU time of this process so far, user and system.
func cpuMicros(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return (unix.TimevalToNsec(u.Utime) + unix.TimevalToNsec(u.Stime)) / 1000
}
