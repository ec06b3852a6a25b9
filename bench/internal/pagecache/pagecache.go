// Package pagecache takes files out of Linux's page cache, so that reading them meets a cold cache.
package pagecache

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Resident is how much of files' content is in the page cache, in bytes.
type Resident struct{ Cached, Total int64 }

// Drop flushes the files of a folder and takes them out of the page cache. It tells what stayed there.
// Pages that are mapped by a process stay.
func Drop(dir string) (Resident, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Resident{}, err
	}
	var r Resident
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		one, err := drop(filepath.Join(dir, e.Name()))
		if err != nil {
			return r, err
		}
		r.Cached += one.Cached
		r.Total += one.Total
	}
	return r, nil
}

func drop(path string) (r Resident, err error) {
	f, err := os.Open(path)
	if err != nil {
		return Resident{}, err
	}
	defer f.Close()
	if err := f.Sync(); err != nil { // Dirty pages would stay.
		return Resident{}, err
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return Resident{}, err
	}
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return Resident{}, err
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return Resident{}, err
	}
	defer func() { err = errors.Join(err, unix.Munmap(m)) }()
	cached, err := incore(m)
	return Resident{min(cached, info.Size()), info.Size()}, err
}
