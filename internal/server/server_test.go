package server

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// node is a broker over a file system in memory: what a test hands from one start to the next.
type node struct {
	fs     vfs.FS
	stores controller.StoreFactory
	seed   uint64
}

func newNode() *node { return &node{fs: vfs.NewMem(), stores: controller.MemoryStores()} }

func (n *node) settings(t *testing.T, extra map[string]string) *config.Broker {
	t.Helper()
	all := map[string]string{"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": "/data"}
	for k, v := range extra {
		all[k] = v
	}
	b, _, err := config.Load(all)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (n *node) start(t *testing.T, extra map[string]string) (*Server, error) {
	t.Helper()
	n.seed++
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return Start(ctx, n.settings(t, extra), Environment{
		FS: n.fs, Clock: clock.System{}, Rand: rand.New(rand.NewPCG(n.seed, 1)), Stores: n.stores, Hostname: "localhost",
	}, slog.New(slog.DiscardHandler))
}

func closeServer(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

func dial(t *testing.T, s *Server) *wire.Client {
	t.Helper()
	c, err := wire.Dial(t.Context(), wire.ClientConfig{Address: s.Addr("PLAINTEXT").String(), ClientID: "test", Clock: clock.System{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func ask[R kmsg.Response](t *testing.T, c *wire.Client, req kmsg.Request, version int16) R {
	t.Helper()
	req.SetVersion(version)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	resp, err := c.Request(ctx, req)
	if err != nil {
		t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp.(R)
}

// TestRestartKeepsClusterAndTopics starts a node, makes a topic, stops it and starts it again: the
// cluster id, the topic and its id are the same, and the partitions are led again.
func TestRestartKeepsClusterAndTopics(t *testing.T) {
	n := newNode()
	s, err := n.start(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	cluster := s.ClusterID()
	create := kmsg.NewPtrCreateTopicsRequest()
	create.TimeoutMillis = 5000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "kept", 3, 1
	create.Topics = append(create.Topics, topic)
	made := ask[*kmsg.CreateTopicsResponse](t, dial(t, s), create, 7).Topics[0]
	if made.ErrorCode != 0 || made.TopicID == [16]byte{} {
		t.Fatalf("CreateTopics: %+v", made)
	}
	closeServer(t, s)

	s, err = n.start(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closeServer(t, s)
	if s.ClusterID() != cluster {
		t.Errorf("cluster id is %s after a restart, was %s", s.ClusterID(), cluster)
	}
	metadata := ask[*kmsg.MetadataResponse](t, dial(t, s), kmsg.NewPtrMetadataRequest(), 12)
	if len(metadata.Topics) != 1 || metadata.Topics[0].TopicID != made.TopicID || len(metadata.Topics[0].Partitions) != 3 {
		t.Fatalf("topics after a restart: %+v", metadata.Topics)
	}
	for _, p := range metadata.Topics[0].Partitions {
		if p.Leader != 1 || p.ErrorCode != 0 {
			t.Errorf("partition %d: leader %d, error %d", p.Partition, p.Leader, p.ErrorCode)
		}
	}
}

// TestStartRefuses shows that what a node can't or mustn't do stops its start with one line that says
// why, and that such a start leaves nothing behind that would hinder the next.
func TestStartRefuses(t *testing.T) {
	n := newNode()
	first, err := n.start(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	taken := first.Addr("PLAINTEXT").String()
	for _, tc := range []struct {
		name  string
		extra map[string]string
		want  string
	}{
		{"directory in use", nil, "/data"},
		{"address in use", map[string]string{"listeners": "PLAINTEXT://" + taken, "log.dirs": "/other"}, taken},
		{"another node's directory", map[string]string{"node.id": "2"}, "/data"},
	} {
		s, err := n.start(t, tc.extra)
		if err == nil {
			closeServer(t, s)
			t.Fatalf("%s: the node started", tc.name)
		}
		if !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error is %q, want one line with %q", tc.name, err, tc.want)
		}
	}
	closeServer(t, first)
	again, err := n.start(t, nil)
	if err != nil {
		t.Fatalf("start after the first node is gone: %v", err)
	}
	closeServer(t, again)
}
