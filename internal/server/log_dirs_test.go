package server

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var twoDirs = map[string]string{"log.dirs": "/a,/b", "metadata.log.dir": "/a", "offsets.topic.num.partitions": "1",
	"replica.high.watermark.checkpoint.interval.ms": "50"}

func createTopic(t *testing.T, c *wire.Client, name string, partitions int32) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 5000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	req.Topics = append(req.Topics, topic)
	if r := ask[*kmsg.CreateTopicsResponse](t, c, req, 7).Topics[0]; r.ErrorCode != 0 {
		t.Fatalf("CreateTopics %s: %v", name, kerr.ErrorForCode(r.ErrorCode))
	}
}

// produceOne appends a record and returns the error code.
func produceOne(t *testing.T, c *wire.Client, topic string, partition int32) int16 {
	t.Helper()
	b := batch.NewCodecs().NewBuilder(nil, batch.DefaultOptions())
	b.Append(time.Now().UnixMilli(), nil, []byte("value"))
	records, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 5000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = partition, records
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return ask[*kmsg.ProduceResponse](t, c, req, 9).Topics[0].Partitions[0].ErrorCode
}

// alterDir asks for one partition to be moved and returns the error code.
func alterDir(t *testing.T, c *wire.Client, topic string, partition int32, dir string) int16 {
	t.Helper()
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	d := kmsg.NewAlterReplicaLogDirsRequestDir()
	d.Dir = dir
	dt := kmsg.NewAlterReplicaLogDirsRequestDirTopic()
	dt.Topic, dt.Partitions = topic, []int32{partition}
	d.Topics = append(d.Topics, dt)
	req.Dirs = append(req.Dirs, d)
	return ask[*kmsg.AlterReplicaLogDirsResponse](t, c, req, 2).Topics[0].Partitions[0].ErrorCode
}

// until waits for something that a goroutine of the node does.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not after 10 seconds", what)
		}
	}
}

// dirOf is the path of the directory that has a partition, and its id as the metadata has it.
func dirOf(s *Server, topic string, partition int32) (path string, assigned bool) {
	p := s.controller.Image().Partition(topic, partition)
	for _, d := range s.logs.Dirs() {
		for _, l := range d.Logs {
			if l.Topic() == topic && l.Partition() == partition {
				return d.Path, p != nil && p.Directory(1) == d.ID
			}
		}
	}
	return "", false
}

// TestAlterReplicaLogDirs moves a partition of a node with two directories: its records, the metadata and the
// directories agree afterwards, and after a restart.
func TestAlterReplicaLogDirs(t *testing.T) {
	n := newNode()
	s, err := n.start(t, twoDirs)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, s)
	createTopic(t, c, "t", 2)
	for p := range int32(2) {
		for range 5 {
			if code := produceOne(t, c, "t", p); code != 0 {
				t.Fatal(kerr.ErrorForCode(code))
			}
		}
	}
	from, _ := dirOf(s, "t", 0)
	to := map[string]string{"/a": "/b", "/b": "/a"}[from]
	until(t, "assignment of new partitions", func() bool {
		_, first := dirOf(s, "t", 0)
		_, second := dirOf(s, "t", 1)
		return first && second
	})
	for _, tc := range []struct {
		topic string
		dir   string
		want  error
	}{
		{"t", "/c", kerr.LogDirNotFound}, {"none", "/c", kerr.LogDirNotFound}, {"none", to, kerr.UnknownTopicOrPartition}, {"t", from, nil}, {"t", to, nil},
	} {
		if err := kerr.ErrorForCode(alterDir(t, c, tc.topic, 0, tc.dir)); !errors.Is(err, tc.want) {
			t.Errorf("%s to %s: %v, want %v", tc.topic, tc.dir, err, tc.want)
		}
	}
	until(t, "the move", func() bool {
		at, assigned := dirOf(s, "t", 0)
		return at == to && assigned
	})
	if code := produceOne(t, c, "t", 0); code != 0 {
		t.Fatal(kerr.ErrorForCode(code))
	}
	closeServer(t, s)
	if s, err = n.start(t, twoDirs); err != nil {
		t.Fatal(err)
	}
	defer closeServer(t, s)
	if at, assigned := dirOf(s, "t", 0); at != to || !assigned {
		t.Errorf("after a restart the partition lies in %s, known to the metadata: %v", at, assigned)
	}
	if l, ok := s.logs.Get("t", 0); !ok || l.LogEndOffset() != 6 {
		t.Errorf("after a restart the log ends at %d, want 6", l.LogEndOffset())
	}
	// The wish for a partition that wasn't there then was for that life.
	if _, ok := s.logs.Get("none", 0); ok {
		t.Error("a partition was made that nobody created")
	}
}

// failing is a file system whose calls below a directory fail once it is broken.
func failing(n *node, dir string) *atomic.Bool {
	var broken atomic.Bool
	n.fs = vfs.NewInject(n.fs, func(_ int64, _ vfs.Op, name string) error {
		if broken.Load() && (name == dir || strings.HasPrefix(name, dir+"/")) {
			return errors.New("the disk is gone")
		}
		return nil
	})
	return &broken
}

// TestOneDirectoryFails: the partitions in it answer KAFKA_STORAGE_ERROR and are shown offline, the others serve,
// new ones come elsewhere, nothing is moved; the same after a restart beside the failed directory; and all is back
// when it is.
func TestOneDirectoryFails(t *testing.T) {
	n := newNode()
	broken := failing(n, "/b")
	s, err := n.start(t, twoDirs)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, s)
	createTopic(t, c, "t", 4)
	lost := map[int32]bool{}
	for p := range int32(4) {
		if code := produceOne(t, c, "t", p); code != 0 {
			t.Fatal(kerr.ErrorForCode(code))
		}
		if at, _ := dirOf(s, "t", p); at == "/b" {
			lost[p] = true
		}
	}
	if len(lost) != 2 {
		t.Fatalf("%d of 4 partitions in one of two directories", len(lost))
	}
	until(t, "assignment", func() bool {
		for p := range int32(4) {
			if _, ok := dirOf(s, "t", p); !ok {
				return false
			}
		}
		return true
	})
	check := func(c *wire.Client, when string, healthy int64) {
		t.Helper()
		until(t, when+": the metadata tells", func() bool {
			topic := "t"
			req := kmsg.NewPtrMetadataRequest()
			rt := kmsg.NewMetadataRequestTopic()
			rt.Topic = &topic
			req.Topics = append(req.Topics, rt)
			for _, p := range ask[*kmsg.MetadataResponse](t, c, req, 12).Topics[0].Partitions {
				offline := p.Leader == -1 && p.ErrorCode == kerr.LeaderNotAvailable.Code && len(p.OfflineReplicas) == 1 && len(p.ISR) == 0
				online := p.Leader == 1 && p.ErrorCode == 0 && len(p.OfflineReplicas) == 0 && len(p.ISR) == 1
				if lost[p.Partition] && !offline || !lost[p.Partition] && !online {
					return false
				}
			}
			return true
		})
		for p := range int32(4) {
			want := int16(0)
			if lost[p] {
				want = kerr.KafkaStorageError.Code
			}
			if code := produceOne(t, c, "t", p); code != want {
				t.Errorf("%s: produce to partition %d: %d, want %d", when, p, code, want)
			}
			if !lost[p] {
				if l, _ := s.logs.Get("t", p); l.LogEndOffset() != healthy {
					t.Errorf("%s: partition %d ends at %d, want %d", when, p, l.LogEndOffset(), healthy)
				}
			}
		}
		dirs := ask[*kmsg.DescribeLogDirsResponse](t, c, kmsg.NewPtrDescribeLogDirsRequest(), 4).Dirs
		if dirs[0].ErrorCode != 0 || dirs[1].ErrorCode != kerr.KafkaStorageError.Code {
			t.Errorf("%s: directories %+v", when, dirs)
		}
		for p := range int32(4) {
			if code := alterDir(t, c, "t", p, "/b"); code != kerr.KafkaStorageError.Code {
				t.Errorf("%s: move of partition %d to the failed directory: %d", when, p, code)
			}
		}
	}
	broken.Store(true)
	until(t, "the failure shows", func() bool { return s.logs.Dirs()[1].Err != nil })
	check(c, "after the failure", 2)
	createTopic(t, c, "later", 2)
	for p := range int32(2) {
		if at, _ := dirOf(s, "later", p); at != "/a" {
			t.Errorf("later-%d lies in %s", p, at)
		}
	}
	_ = s.Close(t.Context())

	if s, err = n.start(t, twoDirs); err != nil {
		t.Fatalf("start beside a failed directory: %v", err)
	}
	check(dial(t, s), "after a restart", 3)
	_ = s.Close(t.Context())

	broken.Store(false)
	if s, err = n.start(t, twoDirs); err != nil {
		t.Fatal(err)
	}
	defer closeServer(t, s)
	c = dial(t, s)
	for p := range int32(4) {
		if code := produceOne(t, c, "t", p); code != 0 {
			t.Errorf("with the directory back: produce to partition %d: %v", p, kerr.ErrorForCode(code))
		}
		if l, ok := s.logs.Get("t", p); !ok || lost[p] && l.LogEndOffset() != 2 {
			t.Errorf("with the directory back partition %d ends at %d", p, l.LogEndOffset())
		}
	}
}

// TestFailureThatEndsTheNode: without the directory of the metadata, and without any directory, there is nothing to
// go on with; the line says which it was.
func TestFailureThatEndsTheNode(t *testing.T) {
	for _, tc := range []struct {
		name  string
		extra map[string]string
		want  string
	}{
		{"metadata", map[string]string{"metadata.log.dir": "/b"}, "the log directory with the cluster's metadata, /b, is offline"},
		{"the last one", map[string]string{"log.dirs": "/b", "metadata.log.dir": "/m"}, "all log directories are offline, the last one is /b"},
	} {
		n := newNode()
		broken := failing(n, "/b")
		extra := map[string]string{}
		for k, v := range twoDirs {
			extra[k] = v
		}
		for k, v := range tc.extra {
			extra[k] = v
		}
		s, err := n.start(t, extra)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		broken.Store(true)
		select {
		case <-s.Failed():
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: the node goes on", tc.name)
		}
		if err := s.Err().Error(); !strings.HasPrefix(err, tc.want) || strings.Contains(err, "\n") {
			t.Errorf("%s: %q", tc.name, err)
		}
		_ = s.Close(t.Context())
	}
}

// TestPartitionInTwoDirectories stops the start with a line that names both.
func TestPartitionInTwoDirectories(t *testing.T) {
	n := newNode()
	s, err := n.start(t, twoDirs)
	if err != nil {
		t.Fatal(err)
	}
	createTopic(t, dial(t, s), "t", 1)
	at, _ := dirOf(s, "t", 0)
	closeServer(t, s)
	other := map[string]string{"/a": "/b", "/b": "/a"}[at]
	if err := n.fs.MkdirAll(other+"/t-0", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := n.start(t, twoDirs); err == nil || !strings.Contains(err.Error(), "/a/t-0 and /b/t-0 are the same partition") {
		t.Errorf("start: %v", err)
	}
}
