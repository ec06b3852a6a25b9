package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/config"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// testNet connects the controllers of a test in memory. Cluster tests run in a synctest bubble: time passes
// only when all goroutines wait, so that nothing depends on the machine.
type testNet struct {
	mu    sync.Mutex
	nodes map[string]*testNode // by address
	cut   map[[2]int32]bool
	conns map[*testConn]struct{}
}

// testConn is one end of a connection between two nodes.
type testConn struct {
	net.Conn
	pair [2]int32
}

func newTestNet() *testNet {
	return &testNet{nodes: map[string]*testNode{}, cut: map[[2]int32]bool{}, conns: map[*testConn]struct{}{}}
}

func pairOf(a, b int32) [2]int32 { return [2]int32{min(a, b), max(a, b)} }

var errCut = errors.New("the network is cut")

// isolate cuts a node off from all others, heal ends that.
func (n *testNet) isolate(id int32) { n.partition([]int32{id}) }

// partition cuts a group of nodes off from all others.
func (n *testNet) partition(group []int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for a := int32(1); a < 20; a++ {
		for b := a + 1; b < 20; b++ {
			inA, inB := contains(group, a), contains(group, b)
			if inA != inB {
				n.cut[pairOf(a, b)] = true
			}
		}
	}
	for c := range n.conns {
		if n.cut[c.pair] {
			delete(n.conns, c)
			closeQuietly(c.Conn)
		}
	}
}

func contains(list []int32, x int32) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

func (n *testNet) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
}

// controller is a node's controller; nil while it is stopped.
func (n *testNet) controller(of *testNode) *Controller {
	n.mu.Lock()
	defer n.mu.Unlock()
	return of.c
}

// reach finds the node at an address.
func (n *testNet) reach(from int32, address string) (*Controller, int32, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	to := n.nodes[address]
	if to == nil || to.c == nil {
		return nil, 0, errors.New("connection refused")
	}
	if from != to.id && n.cut[pairOf(from, to.id)] {
		return nil, 0, errCut
	}
	return to.c, to.id, nil
}

// netOf is the network as one node sees it.
type netOf struct {
	net  *testNet
	from int32
}

// Dial implements Network.
func (n netOf) Dial(_ context.Context, address string) (net.Conn, error) {
	c, to, err := n.net.reach(n.from, address)
	if err != nil {
		return nil, err
	}
	ours, theirs := net.Pipe()
	n.net.mu.Lock()
	n.net.conns[&testConn{ours, pairOf(n.from, to)}] = struct{}{}
	n.net.mu.Unlock()
	go func() {
		first := make([]byte, 4)
		if _, err := readFull(theirs, first); err != nil || !c.Divert(first, &prefixed{theirs, first}) {
			closeQuietly(theirs)
		}
	}()
	return ours, nil
}

func readFull(c net.Conn, p []byte) (int, error) {
	n := 0
	for n < len(p) {
		m, err := c.Read(p[n:])
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

type prefixed struct {
	net.Conn
	prefix []byte
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.prefix) > 0 {
		n := copy(b, p.prefix)
		p.prefix = p.prefix[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

// Forward implements Forwarder; it runs the request on the other node as its CONTROLLER listener does.
func (n netOf) Forward(ctx context.Context, address string, client *Client, req kmsg.Request) (Forwarded, error) {
	c, _, err := n.net.reach(n.from, address)
	if err != nil {
		return Forwarded{}, errors.Join(err, ErrNotTaken)
	}
	f, err := c.HandleHere(WithClient(ctx, client), req)
	if _, _, cut := n.net.reach(n.from, address); cut != nil {
		return Forwarded{}, cut
	}
	return f, err
}

// testNode is a node that can be stopped and started.
type testNode struct {
	id      int32
	address string
	cfg     Config
	c       *Controller
	// onImage, if set, is called with every image that subscribers see.
	onImage func(*image.Image)
	// seen is the image that the subscriber saw last.
	mu   sync.Mutex
	seen *image.Image
}

type testCluster struct {
	t     *testing.T
	net   *testNet
	nodes map[int32]*testNode
	keys  map[string]string
	seed  uint64
}

func addressOf(id int32) string { return fmt.Sprintf("c%d:%d", id, 9000+id) }

func newTestCluster(t *testing.T, keys map[string]string) *testCluster {
	tc := &testCluster{t: t, net: newTestNet(), nodes: map[int32]*testNode{}, keys: keys}
	t.Cleanup(tc.stopAll)
	return tc
}

// static adds voters 1 to n.
func static(t *testing.T, n int32) *testCluster {
	tc := newTestCluster(t, nil)
	var voters []config.Voter
	for id := int32(1); id <= n; id++ {
		voters = append(voters, config.Voter{ID: id, Host: fmt.Sprintf("c%d", id), Port: 9000 + id})
	}
	for id := int32(1); id <= n; id++ {
		tc.add(id, RoleController, func(cfg *Config) { cfg.Voters = voters })
	}
	return tc
}

func (tc *testCluster) logger(id int32) *slog.Logger {
	if os.Getenv("OTTLA_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("node", id)
}

// add describes a node.
func (tc *testCluster) add(id int32, role Role, edit func(*Config)) *testNode {
	keys := config.ZeroConfig()
	for k, v := range tc.keys {
		keys[k] = v
	}
	keys["broker.session.timeout.ms"], keys["broker.heartbeat.interval.ms"] = "86400000", "86400000" // Nobody sends heartbeats here.
	settings, _, err := config.Load(keys)
	if err != nil {
		tc.t.Fatal(err)
	}
	tc.seed++
	n := &testNode{id: id, address: addressOf(id)}
	n.cfg = Config{
		NodeID: id, Role: role, Settings: settings, Clock: clock.System{}, Logger: tc.logger(id), Rand: rand.New(rand.NewPCG(uint64(id), tc.seed)),
		Network: netOf{tc.net, id}, Forwarder: netOf{tc.net, id},
		OnFatal: func(err error) { tc.t.Errorf("node %d: fatal: %v", id, err) },
	}
	if role == RoleController {
		n.cfg.Endpoint = image.Endpoint{Name: "CONTROLLER", Host: fmt.Sprintf("c%d", id), Port: uint16(9000 + id)}
		n.cfg.DirectoryID = image.ID{byte(id), 1}
		n.cfg.Stores = MemoryStores()
	}
	edit(&n.cfg)
	tc.nodes[id] = n
	return n
}

// observer adds a broker that knows the given controllers.
func (tc *testCluster) broker(id int32, of *testNode) *testNode {
	return tc.add(id, RoleBroker, func(cfg *Config) { cfg.Voters, cfg.Bootstrap = of.cfg.Voters, of.cfg.Bootstrap })
}

// launch starts nodes without waiting for them; the channel gets each one's error.
func (tc *testCluster) launch(ids ...int32) <-chan error {
	errs := make(chan error, len(ids))
	for _, id := range ids {
		n := tc.nodes[id]
		c, err := New(n.cfg)
		if err != nil {
			tc.t.Fatal(err)
		}
		c.Subscribe(func(old, next *image.Image, d *image.Delta) {
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.onImage != nil {
				n.onImage(next)
			}
			if n.seen != nil && old != n.seen || next.Offset() <= old.Offset() || d.Old != old || d.New != next {
				tc.t.Errorf("node %d: image went from offset %d to %d", id, old.Offset(), next.Offset())
			}
			n.seen = next
		})
		tc.net.mu.Lock()
		n.c, n.seen = c, nil
		tc.net.nodes[n.address] = n
		tc.net.mu.Unlock()
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := c.Start(ctx); err != nil {
				errs <- fmt.Errorf("node %d: %w", id, err)
				return
			}
			errs <- nil
		}()
	}
	return errs
}

// start starts nodes together and waits until all are ready.
func (tc *testCluster) start(ids ...int32) {
	tc.t.Helper()
	errs := tc.launch(ids...)
	for range ids {
		if err := <-errs; err != nil {
			tc.t.Fatal(err)
		}
	}
}

// stop stops nodes.
func (tc *testCluster) stop(ids ...int32) {
	tc.t.Helper()
	for _, id := range ids {
		n := tc.nodes[id]
		if err := n.c.Close(); err != nil {
			tc.t.Errorf("node %d: %v", id, err)
		}
		tc.net.mu.Lock()
		n.c = nil
		tc.net.mu.Unlock()
	}
}

// stopAll stops all nodes that run; the last thing that a test does.
func (tc *testCluster) stopAll() {
	tc.t.Helper()
	for id, n := range tc.nodes {
		if n.c != nil {
			tc.stop(id)
		}
	}
}

// wipe replaces a stopped node's disk.
func (tc *testCluster) wipe(id int32) {
	n := tc.nodes[id]
	n.cfg.Stores = MemoryStores()
	n.cfg.DirectoryID[1]++
}

// eventually waits until f is true.
func (tc *testCluster) eventually(what string, f func() bool) {
	tc.t.Helper()
	for range 6000 {
		if f() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	tc.t.Fatalf("never: %s", what)
}

// active are the running nodes that believe to be the active controller.
func (tc *testCluster) active() []*testNode {
	var list []*testNode
	for id := int32(1); id < 20; id++ {
		if n := tc.nodes[id]; n != nil && n.c != nil {
			if _, ok := n.c.active.get(); ok {
				list = append(list, n)
			}
		}
	}
	return list
}

// leader waits for an active controller other than those excluded.
func (tc *testCluster) leader(except ...int32) *testNode {
	tc.t.Helper()
	var found *testNode
	tc.eventually("an active controller", func() bool {
		for _, n := range tc.active() {
			if !contains(except, n.id) {
				found = n
				return true
			}
		}
		return false
	})
	return found
}

// create creates a topic through a node and tells the error.
func (n *testNode) create(name string, within time.Duration) error {
	return createAt(n.c, name, within)
}

func createAt(c *Controller, name string, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	r := kmsg.NewPtrCreateTopicsRequest()
	r.Version = r.MaxVersion()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, 1, 1
	r.Topics = append(r.Topics, rt)
	resp, err := c.Handle(ctx, r)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
}

// mustCreate creates a topic through a node, which must see it when it is answered.
func (tc *testCluster) mustCreate(n *testNode, name string) {
	tc.t.Helper()
	if err := n.create(name, 20*time.Second); err != nil {
		tc.t.Fatalf("creating %s through node %d: %v", name, n.id, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen.Topic(name) == nil {
		tc.t.Errorf("node %d doesn't see topic %s when it is answered", n.id, name)
	}
}

// registerBroker makes a broker that topics can be placed on.
func (tc *testCluster) registerBroker(through *testNode, id int32) {
	tc.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r := registration(through.c, id, image.ID{byte(id), 9})
	r.LogDirs[0][0] = byte(id)
	resp, err := through.c.Handle(ctx, r)
	if err != nil {
		tc.t.Fatal(err)
	}
	epoch := resp.(*kmsg.BrokerRegistrationResponse).BrokerEpoch
	if b := through.c.Image().Broker(id); b == nil || b.Epoch != epoch {
		tc.t.Errorf("broker %d doesn't see its registration with epoch %d: %+v", id, epoch, b)
	}
	h := kmsg.NewPtrBrokerHeartbeatRequest()
	h.BrokerID, h.BrokerEpoch, h.CurrentMetadataOffset = id, epoch, through.c.Image().Offset()
	if resp, err := through.c.Handle(ctx, h); err != nil || resp.(*kmsg.BrokerHeartbeatResponse).IsFenced {
		tc.t.Fatalf("heartbeat: %+v, %v", resp, err)
	}
}

// same waits until all running nodes have one image, and compares it record by record.
func (tc *testCluster) same() {
	tc.t.Helper()
	var want []string
	tc.eventually("one image", func() bool {
		want = nil
		for _, n := range tc.nodes {
			if n.c == nil {
				continue
			}
			got := contents(n.c.Image())
			if want == nil {
				want = got
			} else if strings.Join(got, "\n") != strings.Join(want, "\n") {
				return false
			}
		}
		return true
	})
}

// quorum describes the quorum through a node.
func (tc *testCluster) quorum(n *testNode) *kmsg.DescribeQuorumResponse {
	tc.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r := kmsg.NewPtrDescribeQuorumRequest()
	r.Version = 2
	rt := kmsg.NewDescribeQuorumRequestTopic()
	rt.Topic = "__cluster_metadata"
	rt.Partitions = append(rt.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	r.Topics = append(r.Topics, rt)
	resp, err := n.c.Handle(ctx, r)
	if err != nil {
		tc.t.Fatal(err)
	}
	return resp.(*kmsg.DescribeQuorumResponse)
}

// names lists replicas as "id.dir" in order.
func names(list []kmsg.DescribeQuorumResponseTopicPartitionReplicaState) string {
	var out []string
	for _, r := range list {
		out = append(out, fmt.Sprintf("%d.%d", r.ReplicaID, r.ReplicaDirectoryID[1]))
	}
	return strings.Join(out, " ")
}
