package server

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/replica"
)

// dirFailed ends the node when its last log directory failed, or the one with the cluster's metadata. With others
// left it goes on without it, and the controller is told.
func (s *Server) dirFailed(dir string, err error) {
	b := s.settings.Broker()
	switch {
	case int(s.failedDirs.Add(1)) == len(b.LogDirs):
		s.fail(fmt.Errorf("all log directories are offline, the last one is %s: %w", dir, err))
	case path.Clean(b.MetadataLogDir) == dir:
		s.fail(fmt.Errorf("the log directory with the cluster's metadata, %s, is offline: %w", dir, err))
	default:
		if l := s.lifecycle.Load(); l != nil {
			l.hurry()
		}
	}
}

// offlineLogDirs are the ids of this broker's log directories that are offline and have one.
func (s *Server) offlineLogDirs() [][16]byte {
	var ids [][16]byte
	for _, d := range s.logs.DirStates() {
		if d.Err != nil && d.ID != [16]byte{} {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// assignTimeout bounds one attempt to tell the controller.
const assignTimeout = 30 * time.Second

// assignDirs tells the controller which directories hold partitions of this broker. What the controller doesn't
// know any more, such as a topic that was deleted meanwhile, is no error.
func (s *Server) assignDirs(ctx context.Context, assignments []replica.DirAssignment) error {
	l := s.lifecycle.Load()
	if l == nil {
		return errors.New("this broker isn't registered yet")
	}
	req := kmsg.NewPtrAssignReplicasToDirsRequest()
	req.Version = req.MaxVersion()
	req.BrokerID, req.BrokerEpoch = l.nodeID, l.epoch
	dirs := make(map[[16]byte]int)
	for _, a := range assignments {
		at, ok := dirs[a.Directory]
		if !ok {
			at = len(req.Directories)
			dirs[a.Directory] = at
			dir := kmsg.NewAssignReplicasToDirsRequestDirectory()
			dir.ID = a.Directory
			req.Directories = append(req.Directories, dir)
		}
		d := &req.Directories[at]
		if n := len(d.Topics); n == 0 || d.Topics[n-1].TopicID != a.TopicID {
			t := kmsg.NewAssignReplicasToDirsRequestDirectoryTopic()
			t.TopicID = a.TopicID
			d.Topics = append(d.Topics, t)
		}
		p := kmsg.NewAssignReplicasToDirsRequestDirectoryTopicPartition()
		p.Partition = a.Partition
		t := &d.Topics[len(d.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	ctx, cancel := context.WithTimeout(ctx, assignTimeout)
	defer cancel()
	resp, err := s.controller.Handle(ctx, req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.AssignReplicasToDirsResponse).ErrorCode)
}
