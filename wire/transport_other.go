//go:build !linux && !darwin

package wire

import (
	"errors"
	"net"
)

// haveLoops says that plaintext sockets can be served by event loops.
const haveLoops = false

// loopTransport doesn't exist on this system.
type loopTransport struct{}

func startLoops(*Server) (*loopTransport, error) {
	return nil, errors.New("this system has no event loops")
}

func (*loopTransport) stop() error                          { return nil }
func (*loopTransport) closePoller() error                   { return nil }
func (*loopTransport) prepare(*link, net.Conn) func() error { return nil }

// hungUp isn't known here: sending tells.
func hungUp(int) bool { return false }

func setReceiveBuffer(uintptr, int) error { return nil }

func relisten(uintptr, int) error { return nil }
