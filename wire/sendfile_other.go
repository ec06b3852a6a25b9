//go:build darwin

package wire

import "golang.org/x/sys/unix"

// haveSendfile says that file ranges can be sent from the page cache. Darwin could, with a call of
// another shape; it isn't a system that brokers run on for speed.
const haveSendfile = false

// sendBytes sends without waiting.
func sendBytes(fd int, bufs [][]byte, _ bool) (int, error) {
	return unix.SendmsgBuffers(fd, bufs, nil, nil, unix.MSG_DONTWAIT)
}

// sendFile isn't called where haveSendfile is false.
func sendFile(int, int, int64, int) (int, error) { return 0, unix.ENOSYS }
