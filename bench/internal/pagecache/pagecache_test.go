package pagecache

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestDrop(t *testing.T) {
	dir := t.TempDir()
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	if fs.Type == unix.TMPFS_MAGIC {
		t.Skip("a tmpfs has nothing but the page cache")
	}
	const size = 4<<20 + 100
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	before, err := incore(m)
	if err != nil || before < size {
		t.Fatalf("%d of %d bytes just written are in the cache, %v", before, size, err)
	}
	if err := unix.Munmap(m); err != nil {
		t.Fatal(err)
	}
	got, err := Drop(dir)
	if err != nil || got.Total != size || got.Cached > size/20 {
		t.Fatalf("got %+v, %v", got, err)
	}
}
