package index

import (
	"os"

	"github.com/ottla/ottla/internal/vfs"
)

// ReadTxn is all entries of the transaction index at path, for tools: the file is opened for reading only.
func ReadTxn(fs vfs.FS, path string) ([]AbortedTxn, error) {
	f, err := fs.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readTxn(f, path)
}
