// Package validate checks record batches before they are appended and assigns their offsets,
// as the oracle's LogValidator and UnifiedLog.analyzeAndValidateRecords do.
//
// Append works on the bytes in place: base offset, leader epoch and, for LogAppendTime, the
// timestamps are patched; the rest stays byte for byte as the client sent it. Only a codec
// other than the client's (compression.type) makes new bytes. Records of compressed batches
// are read where they lie or from a pooled buffer, and large batches through a stream that keeps neither
// keys nor values.
//
// The package holds no state; the caller serializes appends to one partition and so owns the
// next offset. Checks that need no offset (Analyze) can run before that lock is taken.
package validate
