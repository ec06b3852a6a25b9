package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/clock"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		os.Exit(runChild(mode))
	}
	goleak.VerifyTestMain(m,
		// gnet's package-level pool, which lives as long as the process.
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}

const (
	// transportTLS is TransportStd with TLS.
	transportTLS Transport = 100 + iota
	// transportStandIn is TransportLoop where a stand-in polls as soon as there is a request that it may run, which is any.
	transportStandIn
	// transportSole is transportStandIn, which takes the connection for the only one with work when it finds it alone for the second time.
	transportSole
)

// hasStandIns says whether stand-ins poll for a transport's loops from the beginning.
func hasStandIns(transport Transport) bool {
	return transport == transportStandIn || transport == transportSole
}

// patience is how long tests wait for what must happen.
const patience = 20 * time.Second

// handlerFunc is a Handler.
type handlerFunc func(*Request)

func (f handlerFunc) ServeRequest(r *Request) { f(r) }

// answerMetadata answers Metadata with the requested topic's name as cluster id, so that a reply
// tells which request it belongs to.
func answerMetadata(r *Request) {
	resp := r.Body.ResponseKind().(*kmsg.MetadataResponse)
	name := *r.Body.(*kmsg.MetadataRequest).Topics[0].Topic
	resp.ClusterID = &name
	r.Reply(resp)
}

// logBuffer keeps log lines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// testServer is a running server with one listener.
type testServer struct {
	*Server
	t    testing.TB
	addr string
	log  *logBuffer
	// tls is for clients; nil where the listener is plaintext.
	tls *tls.Config
}

// serve starts a server on a free port of the loopback and stops it at the end of the test.
func serve(t testing.TB, transport Transport, h handlerFunc, change ...func(*Config)) *testServer {
	t.Helper()
	log := &logBuffer{}
	cfg := Config{
		Listeners: []Listener{{Name: "PLAINTEXT", SecurityProtocol: "PLAINTEXT", Address: "127.0.0.1:0", Role: RoleBroker, Transport: transport}},
		Handler:   h,
		Supports:  func(_ string, key, version int16) bool { return ServedBy(RoleBroker, key, version) },
		Logger:    slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Clock:     clock.System{},
		Loops:     2,
	}
	var client *tls.Config
	if transport == transportTLS {
		ln := &cfg.Listeners[0]
		ln.Transport = TransportStd
		ln.TLS, client = selfSigned(t)
	}
	if hasStandIns(transport) {
		cfg.Listeners[0].Transport = TransportLoop
		cfg.standIns = standInPolicy{gap: math.MaxInt64, round: time.Millisecond, rounds: 64}
		cfg.Place = func(string, int16, int16) Place { return OnStandIn }
		if transport == transportSole {
			cfg.standIns.sole = 1
		}
	}
	for _, f := range change {
		f(&cfg)
	}
	s, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.pool.Poison = true
	bounds, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	ts := &testServer{Server: s, t: t, addr: bounds[0].Addr.String(), log: log, tls: client}
	t.Cleanup(func() { ts.stop() })
	return ts
}

// stop shuts the server down and checks that nothing is held any more.
func (s *testServer) stop() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// Clients that tests left open are of no interest: the server ends by itself.
	if err := s.Shutdown(ctx); err != nil {
		s.t.Errorf("shutdown: %v\n%s", err, s.log)
	}
	if n := s.MemoryInUse(); n != 0 {
		s.t.Errorf("%d bytes of the budget in use after shutdown", n)
	}
	if n := s.pool.InUseBytes(); n != 0 {
		s.t.Errorf("%d bytes of pooled memory in use after shutdown", n)
	}
	if n := s.metrics.Connections.Load(); n != 0 {
		s.t.Errorf("%d connections after shutdown", n)
	}
}

// dial connects to the server.
func (s *testServer) dial() *testClient {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return &testClient{t: s.t, c: secure(c, s.tls), tcp: c.(*net.TCPConn)}
}

// secure puts TLS over a connection of a client, unless config is nil.
func secure(c net.Conn, config *tls.Config) net.Conn {
	if config == nil {
		return c
	}
	return tls.Client(c, config)
}

// testClient speaks frames.
type testClient struct {
	t testing.TB
	c net.Conn
	// tcp is the connection below TLS.
	tcp *net.TCPConn
}

// closeWrite ends the client's side.
func (c *testClient) closeWrite() {
	c.t.Helper()
	err := c.c.(interface{ CloseWrite() error }).CloseWrite()
	if err == nil && c.c != net.Conn(c.tcp) {
		err = c.tcp.CloseWrite()
	}
	if err != nil {
		c.t.Fatalf("close the client's side: %v", err)
	}
}

func (c *testClient) send(p []byte) {
	c.t.Helper()
	c.c.SetWriteDeadline(time.Now().Add(patience))
	if _, err := c.c.Write(p); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

// receive reads a frame, without its size.
func (c *testClient) receive() []byte {
	c.t.Helper()
	f, err := c.tryReceive()
	if err != nil {
		c.t.Fatalf("receive: %v", err)
	}
	return f
}

func (c *testClient) tryReceive() ([]byte, error) {
	c.c.SetReadDeadline(time.Now().Add(patience))
	var head [4]byte
	if _, err := io.ReadFull(c.c, head[:]); err != nil {
		return nil, err
	}
	f := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(c.c, f)
	return f, err
}

// expectMetadata reads a Metadata reply and checks which request it answers.
func (c *testClient) expectMetadata(id int32, name string) {
	c.t.Helper()
	f := c.receive()
	resp := kmsg.NewPtrMetadataResponse()
	resp.Version = 9
	if err := resp.ReadFrom(f[5:]); err != nil {
		c.t.Fatalf("reply %x: %v", f, err)
	}
	if got := int32(binary.BigEndian.Uint32(f)); got != id || resp.ClusterID == nil || *resp.ClusterID != name {
		c.t.Fatalf("got reply %d %v, want %d %q", got, resp.ClusterID, id, name)
	}
}

// expectClosed checks that the server closes the connection without a further byte.
func (c *testClient) expectClosed() {
	c.t.Helper()
	c.c.SetReadDeadline(time.Now().Add(patience))
	var b [1]byte
	if n, err := c.c.Read(b[:]); n != 0 || err == nil || strings.Contains(err.Error(), "timeout") {
		c.t.Fatalf("read %d bytes, err %v; want a closed connection", n, err)
	}
}

// metadata is a Metadata v9 request for a topic.
func metadata(id int32, name string) []byte {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 9
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &name
	req.Topics = append(req.Topics, topic)
	return appendRequest(nil, id, "tester", req)
}

// produce is a Produce v9 request with records of the given size.
func produce(id int32, acks int16, records []byte) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.Version = 9
	req.Acks = acks
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = "t"
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Records = records
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	return appendRequest(nil, id, "tester", req)
}

// eachTransport runs a test against both transports.
func eachTransport(t *testing.T, f func(t *testing.T, transport Transport)) {
	for name, transport := range map[string]Transport{"loop": TransportLoop, "std": TransportStd, "tls": transportTLS, "stand-in": transportStandIn, "sole": transportSole} {
		t.Run(name, func(t *testing.T) { f(t, transport) })
	}
}

// eachPlain is eachTransport without TLS, for tests whose clients send before they are accepted.
func eachPlain(t *testing.T, f func(t *testing.T, transport Transport)) {
	for name, transport := range map[string]Transport{"loop": TransportLoop, "std": TransportStd, "stand-in": transportStandIn, "sole": transportSole} {
		t.Run(name, func(t *testing.T) { f(t, transport) })
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting: %s", what)
		}
		<-tick.C
	}
}

// pattern is n bytes that differ from place to place.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*13 + i>>16*31)
	}
	return b
}

const childEnv = "OTTLA_WIRE_TEST_CHILD"

func runChild(mode string) int {
	if args, ok := isLoad(mode); ok {
		return loadChild(args)
	}
	switch mode {
	case "emfile":
		return emfileChild()
	}
	fmt.Fprintln(os.Stderr, "unknown mode", mode)
	return 2
}

// keep hands a request out of its handler, to be completed elsewhere; as a handler must it says so first.
func keep(r *Request, to chan<- *Request) {
	r.OnClose(func() {})
	to <- r
}
