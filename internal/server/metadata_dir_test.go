package server

import "testing"

// TestMetadataDirApart keeps the metadata in a directory that isn't one of the log directories, and finds it again.
func TestMetadataDirApart(t *testing.T) {
	n := newNode()
	extra := map[string]string{
		"metadata.log.dir": "/meta", "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0", "node.id": "1", "process.roles": "broker,controller",
		"controller.listener.names": "CONTROLLER", "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
	}
	s, err := n.start(t, extra)
	if err != nil {
		t.Fatal(err)
	}
	cluster, id := s.ClusterID(), s.metadataDir.ID()
	for _, d := range s.logs.Dirs() {
		if d.ID == id {
			t.Errorf("the metadata directory has the id of %s", d.Path)
		}
	}
	closeServer(t, s)
	if s, err = n.start(t, extra); err != nil {
		t.Fatal(err)
	}
	if s.ClusterID() != cluster || s.metadataDir.ID() != id {
		t.Errorf("cluster %s and directory %x after a restart, were %s and %x", s.ClusterID(), s.metadataDir.ID(), cluster, id)
	}
	closeServer(t, s)
}
