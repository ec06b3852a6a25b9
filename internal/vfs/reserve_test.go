//go:build unix

package vfs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReserve reserves blocks behind a file's end, writes into some, and gives the others back. The size and the bytes are those that
// were written all along. Only where the file system can.
func TestReserve(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	f, err := OS{}.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	content := bytes.Repeat([]byte("content."), 1000)
	write := func(at int) {
		t.Helper()
		if _, err := f.WriteAt(content, int64(at*len(content))); err != nil {
			t.Fatal(err)
		}
	}
	check := func(writes int, least, most int64) {
		t.Helper()
		got, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(got, bytes.Repeat(content, writes)) {
			t.Fatalf("the file has %d bytes, want %d writes; %v", len(got), writes, err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			t.Skip("no blocks are told")
		}
		if bytes := st.Blocks * 512; bytes < least || bytes > most {
			t.Errorf("the file takes %d bytes after %d writes, want %d to %d", bytes, writes, least, most)
		}
	}
	write(0)
	err = f.Reserve(int64(len(content)), 4<<20)
	if errors.Is(err, errors.ErrUnsupported) {
		if err := f.Unreserve(); err != nil {
			t.Error(err)
		}
		check(1, 0, 1<<20)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	check(1, 4<<20, 5<<20)
	write(1)
	check(2, 4<<20, 5<<20)
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := f.Unreserve(); err != nil {
		t.Fatal(err)
	}
	check(2, 1, 1<<20)
	write(2)
	if err := f.Unreserve(); err != nil {
		t.Error(err)
	}
	check(3, 0, 1<<20)
}
