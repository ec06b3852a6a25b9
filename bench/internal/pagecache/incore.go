package pagecache

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// incore is how many bytes of the pages of a mapping are in memory.
func incore(m []byte) (int64, error) {
	page := os.Getpagesize()
	seen := make([]byte, (len(m)+page-1)/page)
	// The package unix has no mincore of its own.
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&seen[0]))); errno != 0 {
		return 0, errno
	}
	var n int64
	for _, s := range seen {
		n += int64(s&1) * int64(page)
	}
	return n, nil
}
