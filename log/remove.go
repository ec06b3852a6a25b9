package commitlog

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/ottla/ottla/internal/vfs"
)

// removeIfThere removes a file; a missing one is fine.
func removeIfThere(fs vfs.FS, name string) error {
	if err := fs.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// removeSegments takes segments out of use: they must have left l.segments already. Their files are
// renamed to .deleted, durably by way of the partition's directory, and removed once delay has passed; a crash in
// between leaves files that the next start removes. With later false they are removed at once. Requires: l.mu held.
func (l *Log) removeSegments(dir vfs.Dir, gone []*segment, later bool) error {
	if len(gone) == 0 {
		return nil
	}
	var names []string
	for _, s := range gone {
		s.removed.Store(true)
		for _, f := range s.files() {
			if err := f.rename(f.name + deletedSuffix); err != nil {
				return fmt.Errorf("delete %s: %w", f.name, err)
			}
			names = append(names, f.name+deletedSuffix)
		}
		s.discard()
	}
	drop := func(offset int64) bool {
		return slices.ContainsFunc(gone, func(s *segment) bool { return s.baseOffset == offset })
	}
	if err := l.dropSnapshots(drop); err != nil {
		return err
	}
	if err := l.syncNames(l.path, dir); err != nil {
		return err
	}
	if !later {
		return l.removeFiles(names)
	}
	l.host.removeAfter(l.settings.Load().FileDeleteDelay, func() {
		if err := l.removeFiles(names); err != nil && l.dir.offline() == nil {
			l.logger.Warn("can't remove deleted segments", "partition", l.tp.String(), "error", err)
		}
	})
	return nil
}

// removeFiles removes files; those that are gone already are fine.
func (l *Log) removeFiles(names []string) error {
	for _, name := range names {
		if err := removeIfThere(l.fs, name); err != nil {
			return err
		}
	}
	return nil
}
