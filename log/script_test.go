package commitlog

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/twmb/franz-go/pkg/kerr"
)

// TestScripts runs testdata/scripts: commands on one log, and what it says and has on disk after
// each. The head of a script tells what it shows.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, file string) {
		mem := vfs.NewMem()
		r := &runner{e: newEnv(mem), mem: mem}
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			if err := r.run(&out, d); err != nil {
				fmt.Fprintf(&out, "error: %s\n", describe(err))
			}
			if r.e.m != nil {
				r.e.m.flusher.idle() // So that recovery points are the same in every run.
			}
			if out.Len() == 0 {
				return "ok\n"
			}
			return out.String()
		})
		if r.e.m != nil {
			if err := r.e.m.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// describe is an error as a client sees it, with the cause.
func describe(err error) string {
	if k := kerr.ErrorForCode(kerror.CodeOf(err)); k != nil && kerror.CodeOf(err) != -1 {
		return k.(*kerr.Error).Message
	}
	return err.Error()
}

type runner struct {
	e   *env
	mem *vfs.Mem
	l   *Log
}

// int reads an argument of a command.
func (r *runner) int(d *datadriven.TestData, name string, otherwise int64) int64 {
	for _, a := range d.CmdArgs {
		if a.Key == name {
			n, err := strconv.ParseInt(a.Vals[0], 10, 64)
			if err != nil {
				panic(err)
			}
			return n
		}
	}
	return otherwise
}

func (r *runner) run(out *strings.Builder, d *datadriven.TestData) error {
	l := r.l
	switch d.Cmd {
	case "config":
		c := &r.e.cfg
		c.SegmentBytes = int32(r.int(d, "segment.bytes", int64(c.SegmentBytes)))
		c.SegmentAge = time.Duration(r.int(d, "segment.ms", c.SegmentAge.Milliseconds())) * time.Millisecond
		c.SegmentIndexBytes = int32(r.int(d, "segment.index.bytes", int64(c.SegmentIndexBytes)))
		c.IndexIntervalBytes = int32(r.int(d, "index.interval.bytes", int64(c.IndexIntervalBytes)))
		c.RetentionMs = r.int(d, "retention.ms", c.RetentionMs)
		c.RetentionBytes = r.int(d, "retention.bytes", c.RetentionBytes)
		c.FlushMessages = r.int(d, "flush.messages", c.FlushMessages)
		c.Preallocate = d.HasArg("preallocate")
		c.Delete, c.Compact = !d.HasArg("compact") && !d.HasArg("none"), d.HasArg("compact") || d.HasArg("compact-delete")
		c.MinCleanableDirtyRatio = float64(r.int(d, "dirty-percent", int64(c.MinCleanableDirtyRatio*100))) / 100
		c.MinCompactionLagMs = r.int(d, "min.lag", c.MinCompactionLagMs)
		c.MaxCompactionLagMs = r.int(d, "max.lag", c.MaxCompactionLagMs)
		c.DeleteRetentionMs = r.int(d, "delete.retention.ms", c.DeleteRetentionMs)
		r.e.dedupe = r.int(d, "dedupe", r.e.dedupe)
		if l != nil {
			l.UpdateConfig(*c)
		}
	case "open":
		if err := r.e.open(); err != nil {
			return err
		}
		var err error
		r.l, err = r.e.log()
		return err
	case "close":
		return r.e.m.Close()
	case "crash":
		// What was never synced is gone.
		r.mem = r.mem.AfterCrash(nil)
		r.e.fs = r.mem
		r.e.m.abandon()
		r.e.m.flusher.stop()
	case "kill":
		// What was written is still there, synced or not.
		r.e.m.abandon()
		r.e.m.flusher.stop()
	case "append":
		for range r.int(d, "times", 1) {
			ts := r.int(d, "ts", r.e.clk.Now().UnixMilli())
			info, err := appendRecords(l, int(r.int(d, "records", 1)), int(r.int(d, "size", 50)), ts)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "[%d, %d]\n", info.FirstOffset, info.LastOffset)
			r.e.m.flusher.idle()
		}
	case "idempotent":
		o := batch.DefaultOptions()
		o.ProducerID, o.ProducerEpoch = r.int(d, "id", 1), int16(r.int(d, "epoch", 0))
		o.BaseSequence = int32(r.int(d, "sequence", 0))
		info, err := l.Append(makeBatch(o, l.LogEndOffset(), int(r.int(d, "records", 1)), 50, r.e.clk.Now().UnixMilli()), AppendOptions{})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "[%d, %d] duplicate=%t\n", info.FirstOffset, info.LastOffset, info.Duplicate)
	case "put", "marker":
		return r.put(out, d)
	case "records":
		return r.records(out)
	case "plan":
		return r.plan(out)
	case "clean":
		r.e.m.cleaner.pass()
		r.compacted(out)
	case "read":
		o := ReadOptions{Offset: r.int(d, "offset", 0), MaxBytes: int(r.int(d, "max", 1<<20)),
			MinOneBatch: d.HasArg("min-one"), UpperBound: r.int(d, "upper", NoLimit)}
		info, err := l.Read(o)
		if err != nil {
			return err
		}
		if info.Records == nil {
			fmt.Fprintf(out, "nothing firstBatchIncomplete=%t\n", info.FirstBatchIncomplete)
			return nil
		}
		fmt.Fprintf(out, "%d bytes at %d:", info.Records.Len(), info.Records.Position())
		info.Records.Release()
		bs, err := readBatches(l, o)
		for _, b := range bs {
			fmt.Fprintf(out, " [%d, %d]", b.BaseOffset, b.LastOffset())
		}
		fmt.Fprintln(out)
		return err
	case "read-all":
		offsets, err := readAll(l, l.LogStartOffset())
		if err != nil {
			return err
		}
		if err := contiguous(offsets, l.LogStartOffset(), l.LogEndOffset()); err != nil {
			return err
		}
		fmt.Fprintf(out, "[%d, %d)\n", l.LogStartOffset(), l.LogEndOffset())
	case "positions":
		fmt.Fprintf(out, "start=%d stable=%d highWatermark=%d end=%d recoveryPoint=%d size=%d\n", l.LogStartOffset(),
			l.LastStableOffset(), l.HighWatermark(), l.LogEndOffset(), l.RecoveryPoint(), l.SizeBytes())
	case "high-watermark":
		fmt.Fprintln(out, l.SetHighWatermark(r.int(d, "offset", l.LogEndOffset())))
	case "truncate":
		return l.TruncateTo(r.int(d, "offset", 0))
	case "truncate-fully":
		return l.TruncateFullyAndStartAt(r.int(d, "offset", 0))
	case "delete-records":
		start, err := l.DeleteRecords(r.int(d, "offset", -1))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "start=%d\n", start)
	case "retention":
		n, err := l.deleteOldSegments()
		fmt.Fprintf(out, "%d segments\n", n)
		return err
	case "flush":
		return l.Flush()
	case "advance":
		r.e.clk.Advance(time.Duration(r.int(d, "ms", 0)) * time.Millisecond)
	case "assign-epoch":
		return l.AssignEpoch(int32(r.int(d, "epoch", 0)), r.int(d, "offset", l.LogEndOffset()))
	case "epoch-end":
		e := l.EpochEndOffset(int32(r.int(d, "epoch", 0)))
		fmt.Fprintf(out, "epoch=%d end=%d\n", e.LeaderEpoch, e.EndOffset)
	case "offset-for-timestamp", "max-timestamp":
		var at TimestampOffset
		var ok bool
		var err error
		if d.Cmd == "max-timestamp" {
			at, ok, err = l.MaxTimestamp()
		} else {
			at, ok, err = l.OffsetForTimestamp(r.int(d, "ts", 0))
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "found=%t offset=%d ts=%d\n", ok, at.Offset, at.TimestampMs)
	case "files":
		return r.files(out)
	case "cat":
		b, err := readFile(r.e.fs, path.Join("/data", file(d)))
		if err != nil {
			return err
		}
		out.Write(b)
		if !strings.HasSuffix(out.String(), "\n") {
			out.WriteString("\n")
		}
	case "damage":
		return r.damage(d)
	case "logged":
		for line := range strings.Lines(r.e.logs.String()) {
			if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
				_, msg, _ := strings.Cut(line, "level=")
				out.WriteString(msg)
			}
		}
		r.e.logs.Reset()
	default:
		return fmt.Errorf("unknown command %s", d.Cmd)
	}
	return nil
}

// file is the argument that names a file.
func file(d *datadriven.TestData) string {
	for _, a := range d.CmdArgs {
		if a.Key == "file" {
			return a.Vals[0]
		}
	}
	return ""
}

// files lists the partition's directory with sizes.
func (r *runner) files(out *strings.Builder) error {
	for _, dir := range []string{"/data", "/data/t-0"} {
		entries, err := r.e.fs.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				return err
			}
			if dir != "/data" {
				fmt.Fprintf(out, "%6d %s\n", info.Size(), e.Name())
			} else if e.IsDir() {
				fmt.Fprintf(out, "%s/\n", e.Name())
			}
		}
	}
	return nil
}

// damage changes a file behind the log's back: it cuts it, appends zeros or noise, flips a byte,
// renames or removes it.
func (r *runner) damage(d *datadriven.TestData) error {
	name := path.Join("/data/t-0", file(d))
	if d.HasArg("remove") {
		return r.e.fs.Remove(name)
	}
	for _, a := range d.CmdArgs {
		if a.Key == "to" {
			return r.e.fs.Rename(name, path.Join("/data/t-0", a.Vals[0]))
		}
	}
	f, err := r.e.fs.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	if n := r.int(d, "cut", 0); n > 0 {
		size -= n
		err = f.Truncate(size)
	}
	if n := r.int(d, "zeros", 0); n > 0 && err == nil {
		err = f.Truncate(size + n)
	}
	if n := r.int(d, "noise", 0); n > 0 && err == nil {
		b := make([]byte, n)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		_, err = f.WriteAt(b, size)
	}
	if at := r.int(d, "flip", -1); at >= 0 && err == nil {
		b := make([]byte, 1)
		if _, err = f.ReadAt(b, at); err == nil {
			b[0] ^= 0xff
			_, err = f.WriteAt(b, at)
		}
	}
	return err
}

// TestParseNames: names of segments and directories, both ways.
func TestParseNames(t *testing.T) {
	for name, want := range map[string]string{
		"t-0": "t/0", "a-b-12": "a-b/12", "t-01": "", "t": "", "-1": "", "t-": "", "t--1": "t-/1", "t-x": "",
		"t-0.abc-delete": "", "t-99999999999": "",
	} {
		got := ""
		if tp, ok := parsePartitionDir(name); ok {
			got = fmt.Sprintf("%s/%d", tp.topic, tp.partition)
		}
		if got != want {
			t.Errorf("parsePartitionDir(%q) = %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]int64{
		"00000000000000000042.log": 42, "42.log": -1, "0000000000000000004x.log": -1, "00000000000000000042.index": -1,
		"99999999999999999999.log": -1,
	} {
		got, ok := parseSegmentName(name, logSuffix)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("parseSegmentName(%q) = %d, %t", name, got, ok)
		}
	}
	long := retiredName(topicPartition{strings.Repeat("x", 249), 7}, [16]byte{1}, deleteDirSuffix)
	if len(long) != 255 || !slices.Contains([]bool{true}, strings.HasSuffix(long, "-delete")) {
		t.Errorf("retired name %q has %d bytes", long, len(long))
	}
}
