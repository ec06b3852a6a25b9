package commitlog

import (
	"errors"
	"fmt"
	"io"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/clean"
	"github.com/ottla/ottla/log/index"
)

// cleanedSegment is a segment that is being written by a compaction; its files end in .cleaned until it
// takes the place of others.
type cleanedSegment struct {
	*segment
	// buf has batches that aren't written yet; they belong at the segment's size.
	buf      []byte
	bufBytes int
	// end is the offset after the last batch.
	end      int64
	interval int32
}

// newCleanedSegment makes an empty one.
func (l *Log) newCleanedSegment(baseOffset int64, bufBytes int) (*cleanedSegment, error) {
	cfg := l.settings.Load()
	o := l.cleanedOptions(&cfg.Config)
	s, err := createSegment(o, baseOffset, l.clk.Now())
	if err != nil {
		return nil, errors.Join(err, o.remove(baseOffset)) // What is left would void another compaction.
	}
	return &cleanedSegment{segment: s, end: baseOffset, bufBytes: bufBytes, interval: cfg.IndexIntervalBytes}, nil
}

// cleanedOptions are those of a segment that isn't in service yet.
func (l *Log) cleanedOptions(c *Config) segmentOptions {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.segmentOptions(c)
	o.preallocate, o.suffix = 0, cleanedSuffix
	return o
}

// add takes what the filter leaves of a batch, and returns how many bytes were written meanwhile.
func (c *cleanedSegment) add(f *clean.Filter, b *batch.Batch) (unchanged bool, written int, err error) {
	before := len(c.buf)
	if c.buf, unchanged, err = f.Append(c.buf, b); err != nil || len(c.buf) == before {
		return false, 0, err
	}
	h, err := batch.ParseHeader(c.buf[before:])
	if err != nil {
		return false, 0, fmt.Errorf("batch that was just made: %w", err)
	}
	if err := c.indexBatch(&h, c.size.Load()+int64(before), c.interval); err != nil {
		return false, 0, err
	}
	c.end = h.LastOffset() + 1
	if len(c.buf) < c.bufBytes {
		return unchanged, 0, nil
	}
	if written, err = c.write(); err != nil {
		err = fmt.Errorf("%w: %w", errWriteCleaned, err)
	}
	return unchanged, written, err
}

// write writes what waits.
func (c *cleanedSegment) write() (int, error) {
	f, _, err := c.log.Pin(0)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", c.log.Path(), err)
	}
	n, err := f.WriteAt(c.buf, c.size.Load())
	if err == nil && n < len(c.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return n, fmt.Errorf("write %s: %w", c.log.Path(), err)
	}
	c.size.Add(int64(n))
	c.buf = c.buf[:0]
	return n, nil
}

// keepAborted notes an aborted transaction of which something is left.
func (c *cleanedSegment) keepAborted(t clean.AbortedTxn) error {
	return c.txns.Append(index.AbortedTxn(t))
}

// finish makes all durable.
func (c *cleanedSegment) finish() error {
	if _, err := c.write(); err != nil {
		return err
	}
	return errors.Join(c.becomeInactive(), c.flush(), c.seal())
}

// dropCleaned removes the files, durably: a .cleaned file that came back later would void another compaction. Without a
// descriptor the next exchange of files makes it so, before it begins.
func (l *Log) dropCleaned(c *cleanedSegment) error {
	c.discard()
	for _, f := range c.files() {
		if err := removeIfThere(l.fs, f.name); err != nil {
			return err
		}
	}
	l.mu.Lock()
	dir := l.path
	l.mu.Unlock()
	if err := l.fs.SyncDir(dir); err != nil && !vfs.NoDescriptors(err) {
		return err
	}
	return nil
}
