//go:build linux || darwin

package wire

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// canSendNow says whether sendNow is there.
const canSendNow = true

// sendNow sends what the socket takes without waiting; errWouldWait tells that something is left.
func sendNow(raw syscall.RawConn, p []byte) (n int, err error) {
	outer := raw.Write(func(fd uintptr) bool {
		for n < len(p) {
			var k int
			k, err = unix.Write(int(fd), p[n:])
			switch {
			case errors.Is(err, unix.EINTR):
				continue
			case errors.Is(err, unix.EAGAIN):
				err = errWouldWait
				return true
			case err != nil:
				err = os.NewSyscallError("write", err)
				return true
			}
			n += k
		}
		return true
	})
	if err == nil {
		err = outer
	}
	return n, err
}
