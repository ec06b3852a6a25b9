//go:build !unix

package wire

import "testing"

// cpuMicros isn't known here.
func cpuMicros(*testing.B) int64 { return 0 }
