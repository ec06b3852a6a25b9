package wire

import "golang.org/x/sys/unix"

// haveSendfile says that file ranges can be sent from the page cache.
const haveSendfile = true

// writevPieces is how many pieces unix.Writev sends without allocating.
const writevPieces = 8

// sendBytes sends without waiting; more says that something follows, so that a small head shares a
// packet with it.
func sendBytes(fd int, bufs [][]byte, more bool) (int, error) {
	if !more && len(bufs) <= writevPieces {
		// Without memory of its own. The socket doesn't block, and Go takes the signal of a closed one.
		return unix.Writev(fd, bufs)
	}
	flags := unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL
	if more {
		flags |= unix.MSG_MORE
	}
	return unix.SendmsgBuffers(fd, bufs, nil, nil, flags)
}

// sendFile sends n bytes of a file from a position on, or fewer, without waiting for the client.
func sendFile(out, in int, position int64, n int) (int, error) {
	return unix.Sendfile(out, in, &position, n)
}
