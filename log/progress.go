package commitlog

import (
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/vfs"
)

// progressInterval is how often a start that takes long says how far it is.
const progressInterval = 5 * time.Second

// logEffort stands for what the loading of a log takes beside the bytes that are read, in bytes.
const logEffort = 64 << 10

// progress is how far the loading of a directory's logs has come.
type progress struct {
	d    *dir
	logs []*Log
	// recoveryPoint is that of a log, -1 if it has none. With a clean stop nothing is recovered.
	recoveryPoint func(*Log) int64

	loaded atomic.Int64
	// bytes is how much of segments was recovered.
	bytes atomic.Int64
	ended atomic.Bool

	// total is how many bytes there are to recover, once measured. Both belong to report.
	total    int64
	measured bool
	estimate estimator
}

// watch reports the progress every few seconds until it has ended.
func (m *Manager) watch(p *progress) {
	p.estimate.add(m.clk.Now(), 0)
	var again func()
	again = func() {
		if !p.ended.Load() {
			m.report(p)
			m.tasks.after(progressInterval, again)
		}
	}
	m.tasks.after(progressInterval, again)
}

// report logs how far the loading is, and how long it may still take.
func (m *Manager) report(p *progress) {
	if !p.measured {
		p.measure(m.fs) // Only now: most starts are over before.
	}
	loaded, bytes := p.loaded.Load(), min(p.bytes.Load(), p.total)
	p.estimate.add(m.clk.Now(), bytes+loaded*logEffort)
	args := []any{"dir", p.d.path, "loaded", loaded, "logs", len(p.logs), "bytesRecovered", bytes, "bytesToRecover", p.total}
	if left, ok := p.estimate.remaining(p.total + int64(len(p.logs))*logEffort); ok {
		args = append(args, "remaining", left.Round(time.Second))
	}
	m.logger.Info("still loading logs", args...)
}

// measure adds up the segments that are recovered. It looks at directories that are being loaded: what vanishes
// meanwhile doesn't count.
func (p *progress) measure(fs vfs.FS) {
	p.measured = true
	if p.d.clean {
		return
	}
	for _, l := range p.logs {
		entries, err := fs.ReadDir(l.path)
		if err != nil {
			continue
		}
		point, sum := p.recoveryPoint(l), int64(0)
		for _, e := range entries {
			base, ok := parseSegmentName(e.Name(), logSuffix)
			if !ok {
				continue
			}
			if base <= point {
				sum = 0 // The entries are sorted: the segments before this one are flushed.
			}
			if info, err := e.Info(); err == nil {
				sum += info.Size()
			}
		}
		p.total += sum
	}
}
