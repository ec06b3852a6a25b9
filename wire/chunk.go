package wire

// Chunk is a piece of a reply: bytes, or a range of a file. Exactly one of the two is set.
type Chunk struct {
	// Bytes is copied by the connection.
	Bytes []byte
	// File is sent from the page cache where the transport can, and copied where it can't.
	File FileRange
}

// CachedRange is a FileRange that can be read without waiting for the device.
type CachedRange interface {
	FileRange
	// ReadCached is ReadAt in what is in memory, all of p; an error says that it can't be had so.
	ReadCached(p []byte, position int64) error
}

// FileRange is a held piece of a file. The file stays open and the bytes stay in place until Release.
type FileRange interface {
	// Fd is the descriptor for sendfile; false if the file has none.
	Fd() (fd uintptr, ok bool)
	// ReadAt reads at a position of the file (not of the range), as io.ReaderAt.
	ReadAt(p []byte, position int64) (int, error)
	// Position is where the range starts in the file, in bytes.
	Position() int64
	// Len is the range's length in bytes.
	Len() int
	// Release gives the hold up; called exactly once.
	Release()
}
