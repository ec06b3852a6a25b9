package dump

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// Options say what is printed, and are named as the stock tool's.
type Options struct {
	Files []string
	// DeepIteration prints records too; PrintDataLog implies it and prints their keys and values.
	DeepIteration, PrintDataLog bool
	// SkipRecordMetadata leaves out all of a record but key and value, and control records.
	SkipRecordMetadata bool
	// VerifyIndexOnly compares indexes with the segment without printing their entries;
	// IndexSanityCheck makes the check of a start only.
	VerifyIndexOnly, IndexSanityCheck bool
	// MaxMessageSize bounds the batch that an index entry may point at, MaxBytes what is read of a
	// segment, both in bytes. 0: DefaultMaxMessageSize, no bound.
	MaxMessageSize, MaxBytes int64
	// Key and Value decode keys and values; nil: Text.
	Key, Value Decoder
	// Records decodes keys and values together, in place of Key and Value; nil: none.
	Records RecordDecoder
}

// Defaults of the stock tool, in bytes.
const (
	DefaultMaxMessageSize = 5 << 20
	unlimited             = math.MaxInt32
)

// maxDecompressedBytes bounds the decompressed records of one batch.
const maxDecompressedBytes = math.MaxInt32

// Problem is damage found in a file, or an error of reading it.
type Problem struct {
	File string
	// Position in the file, in bytes; -1 if the trouble is with the file as a whole.
	Position int64
	Reason   string
}

// Error names file, position and reason in one line.
func (p *Problem) Error() string {
	reason := strings.ReplaceAll(p.Reason, "\n", " ")
	if p.Position < 0 {
		return fmt.Sprintf("%s: %s", p.File, reason)
	}
	return fmt.Sprintf("%s: position %d: %s", p.File, p.Position, reason)
}

// Run dumps the files to out, one after another. Remarks that aren't damage go to remarks, as the
// stock tool's to its standard error. The error joins a Problem for each file that has any, the
// first one found in it.
func Run(fs vfs.FS, out, remarks io.Writer, o Options) error {
	return run(fs, out, remarks, o, maxDecompressedBytes)
}

func run(fs vfs.FS, out, remarks io.Writer, o Options, maxDecompressed int64) error {
	if o.MaxMessageSize <= 0 {
		o.MaxMessageSize = DefaultMaxMessageSize
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = unlimited
	}
	if o.Key == nil {
		o.Key = Text
	}
	if o.Value == nil {
		o.Value = Text
	}
	o.DeepIteration = o.DeepIteration || o.PrintDataLog
	d := &dumper{
		fs: readOnly{fs}, out: bufio.NewWriterSize(out, 64<<10), opts: o,
		codecs: batch.NewCodecs(), maxDecompressed: maxDecompressed,
	}
	var errs []error
	for _, name := range o.Files {
		d.problem = nil
		if err := d.file(name); err != nil {
			d.damage(name, -1, err.Error())
		}
		if d.problem != nil {
			errs = append(errs, d.problem)
		}
	}
	errs = append(errs, d.out.Flush())
	if _, err := remarks.Write(d.remarks); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// dumper is one run.
type dumper struct {
	fs     vfs.FS
	out    *bufio.Writer
	opts   Options
	codecs *batch.Codecs
	// maxDecompressed is maxDecompressedBytes, less in tests.
	maxDecompressed int64
	// remarks wait until everything was dumped.
	remarks []byte
	// problem is the first of the current file.
	problem *Problem
	// buf holds the batch at hand.
	buf []byte
}

// damage notes a problem unless the file has one already.
func (d *dumper) damage(file string, position int64, reason string) {
	if d.problem == nil {
		d.problem = &Problem{File: file, Position: position, Reason: reason}
	}
}

func (d *dumper) printf(format string, args ...any) {
	fmt.Fprintf(d.out, format, args...) //nolint:errcheck // The writer keeps the error for Flush.
}

func (d *dumper) remark(format string, args ...any) {
	d.remarks = fmt.Appendf(d.remarks, format, args...)
}

// leftovers are the suffixes of files that are about to be removed or to replace others; what is in
// them is told by the suffix before.
var leftovers = []string{".deleted", ".cleaned", ".swap", ".tmp"}

// file dumps one file by the kind that its name tells.
func (d *dumper) file(name string) error {
	name = path.Clean(name)
	d.printf("Dumping %s\n", name)
	kind, suffix := path.Base(name), ""
	for _, s := range leftovers {
		if inner, ok := strings.CutSuffix(kind, s); ok {
			kind, suffix = inner, s
			break
		}
	}
	if print, ok := smallFiles[kind]; ok {
		return d.small(name, print)
	}
	ext := path.Ext(kind)
	switch ext {
	case ".checkpoint":
		return d.controllerSnapshot(name, kind)
	case ".log", ".index", ".timeindex", ".txnindex", ".snapshot":
	default:
		d.remark("Ignoring unknown file %s\n", name)
		return nil
	}
	first, _, _ := strings.Cut(kind, ".")
	base, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return errors.New("its name doesn't tell the base offset")
	}
	// beside is the name of another of the segment's files.
	beside := func(ext string) string { return path.Join(path.Dir(name), first+ext+suffix) }
	switch ext {
	case ".log":
		d.printf("Log starting offset: %d\n", base)
		return d.segment(name)
	case ".index":
		return d.offsetIndex(name, base, beside(".log"))
	case ".timeindex":
		return d.timeIndex(name, base, beside(".log"), beside(".index"))
	case ".txnindex":
		return d.txnIndex(name)
	}
	return d.small(name, printSnapshot)
}

// controllerSnapshot dumps a snapshot of Kafka's metadata log.
func (d *dumper) controllerSnapshot(name, kind string) error {
	if kind == "bootstrap.checkpoint" {
		d.printf("KRaft bootstrap snapshot\n")
		return d.segment(name)
	}
	a, b, ok := strings.Cut(strings.TrimSuffix(kind, ".checkpoint"), "-")
	offset, err := strconv.ParseInt(a, 10, 64)
	epoch, err2 := strconv.ParseInt(b, 10, 32)
	if !ok || err != nil || err2 != nil {
		return errors.New("its name doesn't tell the end offset and epoch")
	}
	d.printf("Snapshot end offset: %d, epoch: %d\n", offset, epoch)
	return d.segment(name)
}
