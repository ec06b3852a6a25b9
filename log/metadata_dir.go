package commitlog

import (
	"errors"
	"fmt"
	"log/slog"
	"path"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/vfs"
)

// MetadataDir is a directory for the cluster's metadata (metadata.log.dir) that isn't one of the log dirs: locked,
// and known by its meta.properties as they are. It holds no logs.
type MetadataDir struct {
	d   *dir
	clk clock.Clock
}

// OpenMetadataDir locks the directory, which must be this node's and of its cluster; both as far as they are
// known. A new one gets an id.
func OpenMetadataDir(fs vfs.FS, clk clock.Clock, logger *slog.Logger, name string, nodeID int32, clusterID string, newUUID func() [16]byte) (*MetadataDir, error) {
	d := &dir{path: path.Clean(name), fs: fs, logger: logger, failed: func(*dir, error) {}, brokerEpoch: noBrokerEpoch}
	if err := makeDirs(fs, d.path); err != nil {
		return nil, err
	}
	lock, err := fs.Lock(d.file(lockFile))
	if err != nil {
		return nil, fmt.Errorf("can't lock %s; another broker may be using the directory: %w", d.file(lockFile), err)
	}
	d.lock = lock
	if err := d.readMeta(&ManagerConfig{NodeID: nodeID, ClusterID: clusterID, NewUUID: newUUID}); err != nil {
		return nil, errors.Join(err, d.close())
	}
	m := &MetadataDir{d, clk}
	if clusterID != "" {
		if err := m.SetClusterID(clusterID); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

// ID is the directory's id.
func (m *MetadataDir) ID() [16]byte { return m.d.id }

// ClusterID is that of its meta.properties, empty if it has none yet.
func (m *MetadataDir) ClusterID() string { return m.d.meta.clusterID }

// SetClusterID writes meta.properties if it is missing. It fails if the directory is another cluster's.
func (m *MetadataDir) SetClusterID(id string) error {
	if err := m.d.meta.check(m.d.path, m.d.meta.nodeID, id); err != nil {
		return err
	}
	m.d.meta.clusterID = id
	return m.d.writeMeta(m.clk.Now())
}

// Close gives the directory up.
func (m *MetadataDir) Close() error { return m.d.close() }
