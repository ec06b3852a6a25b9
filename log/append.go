package commitlog

import (
	"errors"
	"fmt"
	"io"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/index"
	"github.com/ottla/ottla/log/producer"
	"github.com/ottla/ottla/log/validate"
)

// Append validates records, which it borrows and patches in place, assigns their offsets and writes
// them. With flush.messages reached it returns after the flush. Errors are those of package
// validate (with a *RecordErrors inside where single records are refused) and package producer, or
// KAFKA_STORAGE_ERROR; nothing is appended then, unless it is the flush that failed. For want of free
// space or descriptors that error is ErrNoRoom or ErrNoDescriptors, the log is as it was, and the same append may
// succeed later.
func (l *Log) Append(records []byte, opts AppendOptions) (AppendInfo, error) {
	if err := l.usable(); err != nil {
		return AppendInfo{}, err
	}
	cfg := l.settings.Load()
	p := cfg.params
	p.Topic, p.Partition = l.tp.topic, l.tp.partition
	p.Origin = validate.Origin(opts.Origin)
	p.LeaderEpoch = opts.LeaderEpoch
	a, err := validate.Analyze(records, &p)
	if err != nil {
		return AppendInfo{}, recordErrors(err)
	}
	if cfg.FlushMessages < NoLimit && l.inherited.Load() {
		if err := l.flushInherited(); err != nil {
			return AppendInfo{}, err
		}
	}
	info, rolled, err := l.appendAnalyzed(&a, &p, cfg, &opts)
	if rolled {
		l.host.flushSoon(l)
	}
	if err != nil || info.Duplicate {
		return info, err
	}
	if l.host.crowded() {
		// For the files' sake. Where there are no descriptors it is owed, and nobody was promised it.
		if err := l.flushTo(info.LastOffset + 1); !IsScarce(err) {
			return info, err
		}
	}
	if cfg.FlushMessages < NoLimit && l.logEndOffset.Load()-l.durable() >= cfg.FlushMessages {
		err = l.flushRecords(info.LastOffset + 1)
	}
	return info, err
}

// FlushesAppends says whether an append may have to wait until it is on the disk.
func (l *Log) FlushesAppends() bool {
	return l.settings.Load().FlushMessages < NoLimit || l.host.crowded()
}

// recordErrors turns package validate's error about single records into this package's.
func recordErrors(err error) error {
	var v *validate.RecordErrors
	if !errors.As(err, &v) {
		return err
	}
	out := &RecordErrors{Records: make([]RecordError, 0, len(v.Records))}
	for _, r := range v.Records {
		out.Records = append(out.Records, RecordError{Index: r.BatchIndex, Message: r.Message})
	}
	return &kerror.Error{Kerr: v.Err.Kerr, Message: v.Err.Message, Cause: out}
}

// appendAnalyzed does what needs the log's mutex.
func (l *Log) appendAnalyzed(a *validate.Analysis, p *validate.Params, cfg *settings, opts *AppendOptions) (info AppendInfo, rolled bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return info, false, err
	}
	info = AppendInfo{LogAppendTimeMs: -1, LogStartOffset: l.logStartOffset.Load()}
	if a.NumBatches == 0 {
		info.FirstOffset, info.LastOffset = -1, -1
		return info, false, nil
	}
	p.FirstOffset = l.logEndOffset.Load()
	p.NowMs = l.clk.Now().UnixMilli()
	var res validate.Result
	if p.Origin == validate.OriginReplication {
		res, err = validate.AppendAsFollower(a, p)
	} else {
		res, err = validate.Append(a, p, l.codecs)
	}
	if err != nil {
		return info, false, recordErrors(err)
	}
	if p.Origin != validate.OriginReplication {
		l.producers.SetVerificationEnabled(l.host.verifiesTransactions())
		d, err := l.check(&res.Batch, checkOptions(opts))
		if err != nil {
			return info, false, err
		}
		if d.Duplicate {
			info.Duplicate = true
			info.FirstOffset, info.LastOffset = d.DuplicateOf.FirstOffset(), d.DuplicateOf.LastOffset
			info.LogAppendTimeMs = d.DuplicateOf.Timestamp
			return info, false, nil
		}
	}
	// After the duplicates: what is stored already needs no room.
	if err := l.dir.admit(Origin(p.Origin)); err != nil {
		return info, false, err
	}
	if err := l.lowerStart(); err != nil {
		return info, false, l.dir.trouble(err)
	}
	if rolled, err = l.maybeRoll(cfg, &res); err != nil {
		return info, rolled, err
	}
	if err := l.write(cfg, &res); err != nil {
		return info, rolled, err
	}
	info.FirstOffset, info.LastOffset = res.FirstOffset, res.LastOffset
	info.LogAppendTimeMs = res.LogAppendTimeMs
	info.NumRecords, info.SizeBytes = res.LastOffset-res.FirstOffset+1, len(res.Records)
	return info, rolled, nil
}

// write writes the records at the end of the active segment and publishes them. After a failure
// the log is as it was, or the directory is offline. Requires: l.mu held.
func (l *Log) write(cfg *settings, res *validate.Result) error {
	seg := l.active()
	position := seg.size.Load()
	file, _, err := seg.log.Pin(0) // Until it is flushed.
	if err != nil {
		return l.dir.trouble(fmt.Errorf("append to %s: %w", l.tp, err))
	}
	l.reserve(cfg, seg, file, position+int64(len(res.Records)))
	if n, err := file.WriteAt(res.Records, position); err != nil || n < len(res.Records) {
		return l.undoWrite(seg, file, position, cmpErr(err))
	}
	// Nothing may be refused from here on: what follows happens in memory.
	l.dir.spend(seg.unpaid(position, len(res.Records)))
	end, size := res.LastOffset+1, position+int64(len(res.Records))
	// Before the indexes and the largest timestamp, which lead searches to these bytes.
	seg.size.Store(size)
	if err := l.account(cfg, seg, position, res.Records); err != nil {
		l.dir.fail(err)
		return storageError(err)
	}
	l.tail.add(res.FirstOffset, position, end, size)
	l.logEndOffset.Store(end)
	l.publishUnstable()
	return nil
}

// cmpErr names a write that stopped short without an error.
func cmpErr(err error) error {
	if err == nil {
		return io.ErrShortWrite
	}
	return err
}

// undoWrite cuts what a refused write left. Want of room is no reason to take the directory offline;
// anything else is, since nothing is known about the file then. Requires: l.mu held.
func (l *Log) undoWrite(seg *segment, file vfs.File, position int64, cause error) error {
	err := fmt.Errorf("append to %s: %w", seg.log.Path(), cause)
	seg.reserved = min(seg.reserved, 0)
	if terr := file.Truncate(position); terr != nil {
		err = errors.Join(err, terr)
		l.dir.fail(err)
		return storageError(err)
	}
	if errors.Is(cause, io.ErrShortWrite) { // The reason comes with the next try.
		return l.dir.ranOut(err)
	}
	return l.dir.trouble(err)
}

// account takes written batches into indexes, epochs and producer state. Entries that can't be written for want of room
// or descriptors wait in memory for the next flush. Requires: l.mu held.
func (l *Log) account(cfg *settings, seg *segment, position int64, records []byte) error {
	b := &l.scratch
	var err error
	for len(records) > 0 {
		if *b, records, err = batch.Parse(records); err != nil {
			return fmt.Errorf("batch that was validated: %w", err)
		}
		if err := seg.indexBatch(&b.Header, position, cfg.IndexIntervalBytes); err != nil {
			return err
		}
		position += int64(b.SizeBytes())
		if b.Magic >= batch.MagicV2 && b.LeaderEpoch > l.LatestEpoch() {
			l.assignEpoch(b.LeaderEpoch, b.BaseOffset)
		}
		if err := l.replay(seg, b); err != nil {
			return err
		}
	}
	return nil
}

// replay takes a batch of the log into the producer state; a transaction that it aborts goes into
// the segment's index. Requires: l.mu held, or l not shared.
func (l *Log) replay(seg *segment, b *batch.Batch) error {
	if b.HasProducerID() {
		done, ended, err := l.producers.Replay(b)
		if err != nil {
			return fmt.Errorf("producer state at offset %d: %w", b.BaseOffset, err)
		}
		if ended && done.Aborted && seg != nil {
			if err := seg.txns.Append(abortedTxn(done)); err != nil {
				return err
			}
		}
	}
	l.producers.SetMapEndOffset(b.LastOffset() + 1)
	return nil
}

// LatestEpoch is the newest leader epoch of the log, -1 if there is none.
func (l *Log) LatestEpoch() int32 {
	l.epochs.RLock()
	defer l.epochs.RUnlock()
	return l.epochs.cache.Latest()
}

// abortedTxn is the index entry of a transaction.
func abortedTxn(t producer.CompletedTxn) index.AbortedTxn {
	return index.AbortedTxn{
		ProducerID: t.ProducerID, FirstOffset: t.FirstOffset, LastOffset: t.LastOffset,
		LastStableOffset: t.LastStableOffset,
	}
}
