package commitlog

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
)

// ErrNoDescriptors is what refusals are, by errors.Is, where a file couldn't be opened since the process or the system has
// too many open, most of them sockets perhaps. They are KAFKA_STORAGE_ERROR to clients, nothing was changed, and the
// directory is not offline: trying again later helps.
var ErrNoDescriptors = errors.New("too many files are open")

// IsScarce says that an error is ErrNoRoom or ErrNoDescriptors: what was asked for was refused, and may be asked for again.
func IsScarce(err error) bool { return errors.Is(err, ErrNoRoom) || errors.Is(err, ErrNoDescriptors) }

// spareDescriptors is how many must be left before the want of them counts as over, so that it doesn't flap: a flush or
// the making of a log opens a few at a time.
const spareDescriptors = 8

// descriptors is what is known of the want of descriptors, which all directories share.
type descriptors struct {
	logger *slog.Logger
	// short says that something couldn't be opened, and spareDescriptors haven't been left since.
	short atomic.Bool
}

// ranOut notes that something in a directory couldn't be opened, and returns what clients see.
func (s *descriptors) ranOut(dir string, cause error) error {
	if !s.short.Swap(true) {
		s.logger.Warn("too many files open: what needs one more of a log directory is refused or put off, and the directory stays in service",
			"dir", dir, "error", cause)
	}
	return &kerror.Error{
		Kerr:    kerr.KafkaStorageError,
		Message: "The broker has too many files and connections open; try again later.",
		Cause:   fmt.Errorf("%w: %w", ErrNoDescriptors, cause),
	}
}

// watchDescriptors has made up for what was owed once there are descriptors again.
func (m *Manager) watchDescriptors() {
	if !m.descriptors.short.Load() || !m.canOpen(spareDescriptors) {
		return
	}
	m.descriptors.short.Store(false) // Before the look at what is owed: who owes says so first.
	m.logger.Info("files can be opened again: what was put off is done now")
	owes := func(l *Log) bool { return l.owes() != nil }
	for _, l := range append(m.futuresThat(owes), m.logsThat(owes)...) {
		m.flushSoon(l)
	}
}

// canOpen says whether n descriptors are left.
func (m *Manager) canOpen(n int) bool {
	live := m.liveDirs()
	if len(live) == 0 {
		return false
	}
	for range n {
		d, err := m.fs.OpenDir(live[0].path)
		if err != nil {
			return false
		}
		defer d.Close()
	}
	return true
}
