package batch

// DeleteHorizonMs is the time (ms) from which the cleaner may drop the batch's tombstones and markers;
// false if it has set none yet (KIP-534).
func (h *Header) DeleteHorizonMs() (ms int64, ok bool) {
	return h.BaseTimestamp, h.Attributes.HasDeleteHorizon()
}

// RewriteOptions are those of a batch that takes h's place with fewer records: offsets, epochs, producer,
// sequence, codec and delete horizon stay. Requires: magic 2.
func (h *Header) RewriteOptions() BuilderOptions {
	return BuilderOptions{
		BaseOffset: h.BaseOffset, LastOffset: h.LastOffset(), LeaderEpoch: h.LeaderEpoch,
		Codec: h.Attributes.Codec(), Level: DefaultLevel,
		TimestampType: h.Attributes.TimestampType(), LogAppendTimeMs: h.MaxTimestamp,
		ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch, BaseSequence: h.BaseSequence,
		Transactional: h.Attributes.IsTransactional(), Control: h.Attributes.IsControl(),
		DeleteHorizon: h.Attributes.HasDeleteHorizon(), DeleteHorizonMs: h.BaseTimestamp,
	}
}

// AppendEmpty appends what is left of a batch whose records are all gone: its head, which keeps the
// offsets, the producer's last sequence number and the largest timestamp. (Kafka:
// DefaultRecordBatch.writeEmptyHeader.) Requires: magic 2.
func AppendEmpty(dst []byte, h *Header) []byte {
	o := h.RewriteOptions()
	o.Codec, o.DeleteHorizon = None, false
	b := Builder{
		o: o, dst: dst, start: len(dst), nextOffset: h.BaseOffset,
		baseTimestamp: NoTimestamp, maxTimestamp: h.MaxTimestamp,
	}
	b.dst = append(b.dst, make([]byte, HeaderSize)...)
	b.putHead(b.dst[b.start:])
	return b.dst
}
