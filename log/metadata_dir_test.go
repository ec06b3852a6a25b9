package commitlog

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/vfs"
)

// TestMetadataDir: the id of a directory lasts from its first start, and it is lent to nobody else.
func TestMetadataDir(t *testing.T) {
	fs, next := vfs.NewMem(), byte(0)
	open := func(node int32, cluster string) (*MetadataDir, error) {
		return OpenMetadataDir(fs, clock.System{}, slog.New(slog.DiscardHandler), "/meta/data", node, cluster, func() [16]byte {
			next++
			return [16]byte{15: next + 100}
		})
	}
	m, err := open(1, "")
	if err != nil || m.ID() != [16]byte{15: 101} || m.ClusterID() != "" {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, err := open(1, ""); err == nil || !strings.Contains(err.Error(), ".lock") {
		t.Errorf("opened twice: %v", err)
	}
	if err := m.SetClusterID("b3R0bGEtZGlmZi1vcmFjbA"); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		node    int32
		cluster string
		refused string
	}{{1, "", ""}, {1, "b3R0bGEtZGlmZi1vcmFjbA", ""}, {2, "", "node"}, {1, "another-cluster-s-idAAA", "cluster"}} {
		m, err := open(tc.node, tc.cluster)
		if tc.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%+v: %v", tc, err)
			}
			continue
		}
		if err != nil || m.ID() != [16]byte{15: 101} || m.ClusterID() != "b3R0bGEtZGlmZi1vcmFjbA" {
			t.Fatalf("%+v: %+v, %v", tc, m, err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
