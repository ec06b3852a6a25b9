package commitlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/vfs"
)

// found is what a partition's directory holds.
type found struct {
	// sizes are the lengths of the .log files by base offset; bases are their keys, sorted.
	sizes map[int64]int64
	bases []int64
	// indexed says which segments have both an offset and a time index.
	indexed map[int64]bool
	// txnIndexed are those that have an index of transactions.
	txnIndexed map[int64]bool
	// snapshots are the offsets of producer snapshots, sorted.
	snapshots []int64
	// recoveredFrom is where the first segment begins that is recovered because the last stop wasn't clean;
	// NoLimit if none is.
	recoveredFrom int64
}

// tidy removes what an interrupted deletion, compaction or write left in a partition's directory,
// ends an interrupted replacement of segments, and lists the rest.
func tidy(fsys vfs.FS, dir string) (*found, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := fileNames(entries)
	tidied := false
	incomplete := int64(math.MaxInt64)
	var swaps []string
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, cleanedSuffix):
			// Files are renamed from .cleaned to .swap together; those that are still .cleaned make
			// the ones after them useless.
			if base, ok := anySegmentName(strings.TrimSuffix(name, cleanedSuffix)); ok {
				incomplete = min(incomplete, base)
			}
			err = removeIfThere(fsys, path.Join(dir, name))
		case strings.HasSuffix(name, deletedSuffix), strings.HasSuffix(name, ".tmp"):
			err = removeIfThere(fsys, path.Join(dir, name))
		case strings.HasSuffix(name, swapSuffix):
			swaps = append(swaps, name)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		tidied = true
	}
	if !tidied {
		return list(fsys, dir, entries)
	}
	if err := endSwap(fsys, dir, swaps, incomplete); err != nil {
		return nil, err
	}
	if entries, err = fsys.ReadDir(dir); err != nil {
		return nil, err
	}
	return list(fsys, dir, entries)
}

// listFiles is the names of the plain files in a directory, sorted.
func listFiles(fsys vfs.FS, dir string) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	return fileNames(entries), err
}

// fileNames is the names of the plain files among the entries of a directory.
func fileNames(entries []fs.DirEntry) []string {
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// anySegmentName reads the base offset of any of a segment's files.
func anySegmentName(name string) (int64, bool) {
	return parseSegmentName(name, path.Ext(name))
}

// endSwap ends an interrupted replacement: segments whose offsets the .swap files cover go, and the
// .swap files take their place. Those at or beyond incomplete are removed instead.
// (Kafka: LogLoader.load.)
func endSwap(fsys vfs.FS, dir string, swaps []string, incomplete int64) error {
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	var use []string
	for _, name := range swaps {
		base, ok := anySegmentName(strings.TrimSuffix(name, swapSuffix))
		if !ok || base >= incomplete {
			if err := removeIfThere(fsys, path.Join(dir, name)); err != nil {
				return err
			}
			continue
		}
		use = append(use, name)
		if strings.HasSuffix(name, logSuffix+swapSuffix) {
			end, err := endOffsetOf(fsys, path.Join(dir, name), base)
			if err != nil {
				return err
			}
			from, to = min(from, base), max(to, end)
		}
	}
	if len(use) == 0 {
		return nil
	}
	names, err := listFiles(fsys, dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if base, ok := parseSegmentName(name, logSuffix); ok && base >= from && base < to {
			if slices.Contains(use, name+swapSuffix) {
				continue // The rename below replaces it.
			}
			for _, suffix := range []string{logSuffix, indexSuffix, timeIndexSuffix, txnIndexSuffix} {
				if err := removeIfThere(fsys, path.Join(dir, segmentName(base)+suffix)); err != nil {
					return err
				}
			}
		}
	}
	for _, name := range use {
		base, isLog := strings.CutSuffix(name, logSuffix+swapSuffix)
		for _, suffix := range []string{indexSuffix, timeIndexSuffix, txnIndexSuffix} {
			// An index that the segment doesn't bring is that of the one before it.
			if isLog && !slices.Contains(use, base+suffix+swapSuffix) {
				if err := removeIfThere(fsys, path.Join(dir, base+suffix)); err != nil {
					return err
				}
			}
		}
	}
	// A crash must not bring back what the .swap files cover once these have their names.
	if err := fsys.SyncDir(dir); err != nil {
		return err
	}
	// The .log files first: once they have their names, no index is taken for an old one.
	for _, logs := range []bool{true, false} {
		for _, name := range use {
			if strings.HasSuffix(name, logSuffix+swapSuffix) != logs {
				continue
			}
			if err := fsys.Rename(path.Join(dir, name), path.Join(dir, strings.TrimSuffix(name, swapSuffix))); err != nil {
				return err
			}
		}
		if err := fsys.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// endOffsetOf walks a segment file to its end offset.
func endOffsetOf(fsys vfs.FS, name string, base int64) (int64, error) {
	file, err := fsys.OpenFile(name, 0, 0)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return 0, err
	}
	sc := newScanner(file, 0, size)
	defer sc.close()
	for end := base; ; {
		h, _, err := sc.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errTornBatch) {
			return end, nil
		}
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", name, err)
		}
		end = h.LastOffset() + 1
	}
}

// list lists the segments and snapshots, and removes index files without a segment.
func list(fsys vfs.FS, dir string, entries []fs.DirEntry) (*found, error) {
	f := &found{recoveredFrom: NoLimit, sizes: map[int64]int64{}, indexed: map[int64]bool{}, txnIndexed: map[int64]bool{}}
	indexes := map[string]bool{}
	for _, e := range entries {
		name := e.Name()
		base, ok := anySegmentName(name)
		if !ok || e.IsDir() {
			continue
		}
		switch path.Ext(name) {
		case logSuffix:
			info, err := e.Info()
			if err != nil {
				return nil, err
			}
			f.sizes[base] = info.Size()
			f.bases = append(f.bases, base)
		case indexSuffix, timeIndexSuffix, txnIndexSuffix:
			indexes[name] = true
		case snapshotSuffix:
			f.snapshots = append(f.snapshots, base)
		}
	}
	for name := range indexes {
		base, _ := anySegmentName(name)
		if _, ok := f.sizes[base]; !ok {
			if err := removeIfThere(fsys, path.Join(dir, name)); err != nil {
				return nil, err
			}
		}
	}
	for _, base := range f.bases {
		f.txnIndexed[base] = indexes[segmentName(base)+txnIndexSuffix]
		f.indexed[base] = indexes[segmentName(base)+indexSuffix] && indexes[segmentName(base)+timeIndexSuffix]
	}
	slices.Sort(f.bases)
	slices.Sort(f.snapshots)
	return f, nil
}
