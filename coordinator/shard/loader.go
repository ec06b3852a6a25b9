package shard

import (
	"fmt"

	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/log/batch"
)

// load replays the whole log into the machine and opens the shard for requests, or drops it.
func (s *Shard) load() {
	s.loadSlots <- struct{}{}
	records, err := s.replayAll()
	<-s.loadSlots
	if s.isLost() {
		return
	}
	if err != nil {
		s.cfg.Logger.Error("Could not load a coordinator shard.", "topic", s.cfg.Topic, "partition", s.partition, "error", err)
		s.Resign(fmt.Errorf("load: %w", err))
		return
	}
	if s.lastAppended >= 0 {
		last := s.lastAppended
		s.log.OnHighWatermark(last, s.epoch, func(err error) { s.onHighWatermark(last, err) })
	}
	s.box.Lock()
	s.box.state = active
	s.box.Unlock()
	if records > 0 {
		s.cfg.Logger.Info("Loaded a coordinator shard.", "topic", s.cfg.Topic, "partition", s.partition, "leaderEpoch", s.epoch, "records", records)
	}
	now := s.cfg.Clock.Now()
	s.execute(now, 0, s.machine.Loaded(now))
}

// replayAll reads from the start of the log to its end as it was when the load began; nobody else
// appends to a partition of an internal topic while its coordinator loads. Control batches and
// records without a key say nothing to a machine.
func (s *Shard) replayAll() (records int, err error) {
	end := s.log.EndOffset()
	for offset := s.log.StartOffset(); offset < end && !s.isLost(); {
		chunk, err := s.log.Read(offset, s.cfg.LoadBufferBytes)
		if err != nil {
			return records, err
		}
		before := offset
		for b, err := range batch.All(chunk) {
			if err != nil {
				return records, fmt.Errorf("offset %d: %w", offset, err)
			}
			if b.NextOffset() <= offset {
				continue
			}
			n, err := s.replayBatch(&b, offset)
			if err != nil {
				return records, fmt.Errorf("offset %d: %w", b.BaseOffset, err)
			}
			records += n
			offset = b.NextOffset()
		}
		if offset == before {
			return records, fmt.Errorf("nothing to read at offset %d, below the log end %d", offset, end)
		}
	}
	s.lastAppended = end - 1
	return records, nil
}

func (s *Shard) replayBatch(b *batch.Batch, from int64) (records int, err error) {
	if b.Attributes.IsControl() {
		return 0, nil
	}
	reader, err := s.cfg.Codecs.Records(b, s.cfg.MaxDecompressedBytes)
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	var r batch.Record
	for reader.Next(&r) {
		if r.Offset < from || r.Key == nil {
			continue
		}
		if err := s.machine.Replay(machine.Record{Key: r.Key, Value: r.Value}); err != nil {
			return records, fmt.Errorf("record at offset %d: %w", r.Offset, err)
		}
		records++
	}
	return records, reader.Err()
}
