package producer

// SnapshotEntry is one producer of a .snapshot file.
type SnapshotEntry struct {
	Active
	// HasBatch says that LastBatch is set: a producer that only a marker is known of has none.
	HasBatch  bool
	LastBatch BatchMetadata
}

// ReadSnapshot reads a .snapshot file in the order of its entries, for tools: expired producers are
// there too. Errors are ErrCorruptSnapshot.
func ReadSnapshot(file []byte) ([]SnapshotEntry, error) {
	count, err := snapshotCount(file)
	if err != nil {
		return nil, err
	}
	out := make([]SnapshotEntry, 0, count)
	for b := file[snapshotHeadBytes:]; count > 0; count-- {
		id, e := decodeEntry(b)
		b = b[snapshotEntryBytes:]
		entry := SnapshotEntry{
			Active: Active{
				ProducerID: id, ProducerEpoch: e.producerEpoch, LastSequence: e.last.LastSequence,
				LastTimestamp: e.lastTimestamp, CoordinatorEpoch: e.coordinatorEpoch,
				CurrentTxnFirstOffset: e.txnFirstOffset,
			},
			HasBatch: e.numBatches > 0, LastBatch: e.last,
		}
		out = append(out, entry)
	}
	return out, nil
}
