//go:build !linux && !darwin

package wire

import "syscall"

// canSendNow says whether sendNow is there.
const canSendNow = false

func sendNow(syscall.RawConn, []byte) (int, error) { return 0, errWouldWait }
