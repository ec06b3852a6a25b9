package commitlog

import (
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/ottla/ottla/internal/vfs"
)

// maxSmallFileBytes bounds what is read of a checkpoint or properties file.
const maxSmallFileBytes = 64 << 20

// writeFileAtomic replaces a file so that a crash leaves the old or the new content: it is written
// beside, flushed and renamed, and the directory is flushed. Where there is no room or no descriptor
// (vfs.Scarce) the old content stays: the directory is opened first.
func writeFileAtomic(fs vfs.FS, name string, content []byte) error {
	dir, err := fs.OpenDir(path.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	tmp := name + ".tmp"
	f, err := fs.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(content, 0); err != nil {
		_ = fs.Remove(tmp) // For its room; a torn one does no harm.
		return errors.Join(fmt.Errorf("write %s: %w", tmp, err), f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(fmt.Errorf("sync %s: %w", tmp, err), f.Close())
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("close %s: %w", tmp, err)
	}
	if err := fs.Rename(tmp, name); err != nil {
		return err
	}
	return dir.Sync()
}

// readFile reads a small file whole. A missing one is an error that is fs.ErrNotExist.
func readFile(fs vfs.FS, name string) ([]byte, error) {
	return vfs.ReadFile(fs, name, maxSmallFileBytes)
}
