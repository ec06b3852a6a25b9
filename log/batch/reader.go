package batch

// RecordReader reads the records of one batch in order. Uncompressed records are slices of
// the batch; a compressed record is valid until the next call of Next or Close.
type RecordReader struct{}

// Records opens the records of b, legacy ones too. Decompressed data beyond maxBytes is
// CORRUPT_MESSAGE. The caller closes the reader, which gives pooled state back.
func (c *Codecs) Records(b *Batch, maxBytes int64) (*RecordReader, error) { panic("unwritten") }

// Next decodes the next record into r. It reports false at the end and at an error: see Err.
func (r *RecordReader) Next(rec *Record) bool { panic("unwritten") }

// Err is what ended the reading: nil if all records were read.
func (r *RecordReader) Err() error { panic("unwritten") }

// Close releases the reader. It must not be used afterwards.
func (r *RecordReader) Close() { panic("unwritten") }
