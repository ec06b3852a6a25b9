package commitlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/ottla/ottla/internal/vfs"
)

// cleanShutdownFile is written last when a broker stops and removed first when it starts; while it
// is there nothing needs recovery.
const cleanShutdownFile = ".kafka_cleanshutdown"

// noBrokerEpoch stands for an unknown broker epoch.
const noBrokerEpoch = -1

// cleanShutdownMarker is the file's content.
type cleanShutdownMarker struct {
	Version     int   `json:"version"`
	BrokerEpoch int64 `json:"brokerEpoch"`
}

// takeCleanShutdown removes the marker of a directory and tells whether it was there and what
// broker epoch it said. A marker that can't be read counts, as in Kafka, but says no epoch.
func takeCleanShutdown(fs vfs.FS, dir string) (clean bool, brokerEpoch int64, err error) {
	name := path.Join(dir, cleanShutdownFile)
	b, err := readFile(fs, name)
	if errors.Is(err, os.ErrNotExist) {
		return false, noBrokerEpoch, nil
	}
	if err != nil {
		return false, noBrokerEpoch, err
	}
	if err := fs.Remove(name); err != nil {
		return false, noBrokerEpoch, err
	}
	if err := fs.SyncDir(dir); err != nil {
		return false, noBrokerEpoch, err
	}
	return true, parseCleanShutdown(b), nil
}

// parseCleanShutdown reads the broker epoch, noBrokerEpoch if there is none to be read.
func parseCleanShutdown(file []byte) int64 {
	m := cleanShutdownMarker{BrokerEpoch: noBrokerEpoch}
	if err := json.Unmarshal(file, &m); err != nil || m.Version != 0 || m.BrokerEpoch < 0 {
		return noBrokerEpoch
	}
	return m.BrokerEpoch
}

// putCleanShutdown writes the marker.
func putCleanShutdown(fs vfs.FS, dir string, brokerEpoch int64) error {
	b, err := json.Marshal(cleanShutdownMarker{BrokerEpoch: brokerEpoch})
	if err != nil {
		return fmt.Errorf("clean shutdown marker: %w", err)
	}
	return writeFileAtomic(fs, path.Join(dir, cleanShutdownFile), b)
}
