package wire

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// TestListenBacklog asks the system how many connections may wait to be accepted.
func TestListenBacklog(t *testing.T) {
	ln, err := listen("127.0.0.1:0", 0, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	raw, err := ln.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var backlog uint32
	var failed error
	if err := raw.Control(func(fd uintptr) {
		var info *unix.TCPInfo
		if info, failed = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); failed == nil {
			backlog = info.Sacked // What Linux tells here of a listening socket.
		}
	}); err != nil {
		t.Fatal(err)
	}
	if failed != nil || backlog != 7 {
		t.Errorf("backlog %d, %v", backlog, failed)
	}
}
