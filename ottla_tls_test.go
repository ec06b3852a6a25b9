package ottla_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ottla/ottla"
	"github.com/ottla/ottla/internal/tlsconfig/tlstest"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const tlsPassword = "a-Password"

// logLines is a broker's log.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// count is the number of lines with a text.
func (l *logLines) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func startTLS(t *testing.T, properties map[string]string) (*ottla.Broker, *logLines) {
	t.Helper()
	log := new(logLines)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	all := map[string]string{"offsets.topic.num.partitions": "1"}
	maps.Copy(all, properties)
	b, err := ottla.Start(ctx, ottla.Config{Dir: t.TempDir(), Properties: all, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return b, log
}

// stores writes a keystore in each binary format and returns the properties that name them.
func stores(t *testing.T, ca, own *tlstest.Pair) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{"key.p12": own.PKCS12(tlsPassword), "trust.jks": ca.TruststoreJKS(tlsPassword)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{
		"ssl.keystore.location": filepath.Join(dir, "key.p12"), "ssl.keystore.password": tlsPassword,
		"ssl.truststore.location": filepath.Join(dir, "trust.jks"), "ssl.truststore.password": tlsPassword,
	}
}

// tlsClient is a client over TLS; a nil config means plaintext.
func tlsClient(t *testing.T, addr string, config *tls.Config, more ...kgo.Opt) *kgo.Client {
	t.Helper()
	opts := append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.RetryTimeout(5 * time.Second), kgo.RecordDeliveryTimeout(20 * time.Second)}, more...)
	if config != nil {
		opts = append(opts, kgo.DialTLSConfig(config))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// roundTrip produces records, among them large ones, and has them all read back with their values.
func roundTrip(t *testing.T, addr string, config *tls.Config, topic string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	producer := tlsClient(t, addr, config, kgo.ProducerBatchMaxBytes(900<<10))
	want := map[string]bool{}
	for i := range 40 {
		value := fmt.Sprintf("%d-%s", i, strings.Repeat(string(rune('a'+i%26)), i*i*400))
		want[value] = true
		producer.Produce(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("produce: %v", err)
			}
		})
	}
	if err := producer.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	consumer := tlsClient(t, addr, config, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for len(want) > 0 {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%d records missing: %v", len(want), err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if !want[string(r.Value)] {
				t.Errorf("a record of %d bytes that wasn't produced", len(r.Value))
			}
			delete(want, string(r.Value))
		})
	}
}

// TestSSLListener serves a listener of each protocol: clients of both read and write, and are told the addresses of
// their own listener. Whoever isn't let in leaves one line in the log that says why.
func TestSSLListener(t *testing.T) {
	t.Parallel()
	ca, stranger := tlstest.Authority(t, "ca"), tlstest.Authority(t, "stranger")
	properties := stores(t, ca, ca.Issue("broker", tlstest.Options{}))
	properties["listeners"] = "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0"
	properties["listener.name.ssl.ssl.client.auth"] = "required"
	b, log := startTLS(t, properties)
	plain, secure := b.Addr(), b.ListenerAddr("SSL")
	with := func(p *tlstest.Pair) *tls.Config {
		cert := p.TLS()
		return &tls.Config{RootCAs: ca.Pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }}
	}
	client := with(ca.Issue("client", tlstest.Options{}))
	old := client.Clone()
	old.MaxVersion = tls.VersionTLS12

	admin := kadm.NewClient(tlsClient(t, plain, nil))
	if _, err := admin.CreateTopics(t.Context(), 2, 1, nil, "t13", "t12", "plain"); err != nil {
		t.Fatal(err)
	}
	roundTrip(t, secure, client, "t13")
	roundTrip(t, secure, old, "t12")
	roundTrip(t, plain, nil, "plain")

	for _, c := range []struct {
		name, addr string
		config     *tls.Config
	}{{"SSL", secure, client}, {"PLAINTEXT", plain, nil}} {
		cl := tlsClient(t, c.addr, c.config)
		metadata, err := kmsg.NewPtrMetadataRequest().RequestWith(t.Context(), cl)
		if err != nil {
			t.Fatal(err)
		}
		cluster, err := kmsg.NewPtrDescribeClusterRequest().RequestWith(t.Context(), cl)
		if err != nil {
			t.Fatal(err)
		}
		m, d := metadata.Brokers[0], cluster.Brokers[0]
		if got := fmt.Sprintf("%s:%d", m.Host, m.Port); got != c.addr {
			t.Errorf("Metadata on %s tells of %s, want %s", c.name, got, c.addr)
		}
		if got := fmt.Sprintf("%s:%d", d.Host, d.Port); got != c.addr {
			t.Errorf("DescribeCluster on %s tells of %s, want %s", c.name, got, c.addr)
		}
	}

	refused := func(name, addr string, config *tls.Config, line string) {
		t.Helper()
		before := log.count(line)
		cl := tlsClient(t, addr, config, kgo.RetryTimeout(10*time.Millisecond), kgo.RequestRetries(0))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := cl.Ping(ctx); err == nil {
			t.Errorf("%s was served", name)
		}
		cl.Close()
		until(t, name+": a line with "+line, func() bool { return log.count(line) > before })
		if n := log.count(line); n != before+1 {
			t.Errorf("%s: %d lines with %q", name, n-before, line)
		}
	}
	refused("a client without a certificate", secure, &tls.Config{RootCAs: ca.Pool()}, "client didn't provide a certificate")
	refused("a client of another authority", secure, with(stranger.Issue("client", tlstest.Options{})), "certificate signed by unknown authority")
	refused("a client that trusts another authority", secure, &tls.Config{RootCAs: stranger.Pool()}, "bad certificate")
	refused("a plaintext client", secure, nil, "the client didn't begin with a TLS handshake")
	refused("a TLS client on the plaintext listener", plain, client, "the client began a TLS handshake on a plaintext listener")

	c, err := net.Dial("tcp", secure)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET / HTTP/1.1\r\n\r\n")
	if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	until(t, "a line on HTTP", func() bool { return log.count("the client speaks HTTP") == 1 })
	if log.count(tlsPassword) > 0 {
		t.Error("the log has a password")
	}
}

// TestSSLBetweenNodes runs a cluster of two whose listeners all want certificates: the broker without a controller
// finds the other's, copies its records, and forwards requests.
func TestSSLBetweenNodes(t *testing.T) {
	t.Parallel()
	ca := tlstest.Authority(t, "ca")
	shared := map[string]string{
		"controller.listener.names": "CONTROLLER", "listener.security.protocol.map": "CONTROLLER:SSL,IN:SSL,SSL:SSL",
		"inter.broker.listener.name": "IN", "ssl.client.auth": "required",
	}
	maps.Copy(shared, stores(t, ca, ca.Issue("node", tlstest.Options{})))
	node := func(id string, more map[string]string) (*ottla.Broker, *logLines) {
		properties := maps.Clone(shared)
		properties["node.id"] = id
		maps.Copy(properties, more)
		return startTLS(t, properties)
	}
	first, _ := node("1", map[string]string{"listeners": "SSL://127.0.0.1:0,IN://127.0.0.1:0,CONTROLLER://127.0.0.1:0", "process.roles": "broker,controller"})
	second, log := node("2", map[string]string{
		"listeners": "SSL://127.0.0.1:0,IN://127.0.0.1:0", "process.roles": "broker",
		"controller.quorum.bootstrap.servers": first.ListenerAddr("CONTROLLER"),
	})
	config := &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{ca.Issue("client", tlstest.Options{}).TLS()}}
	addr := second.ListenerAddr("SSL")
	admin := kadm.NewClient(tlsClient(t, addr, config))
	all := "2"
	made, err := admin.CreateTopics(t.Context(), 4, 2, map[string]*string{"min.insync.replicas": &all}, "copied")
	if err != nil || made["copied"].Err != nil {
		t.Fatal(err, made["copied"].Err)
	}
	roundTrip(t, addr, config, "copied")
	if n := log.count("level=ERROR"); n > 0 {
		t.Errorf("%d errors in the log", n)
	}
}

// TestSSLKeystoreReplaced names another keystore by a dynamic setting: new connections see its certificate. One that
// can't be loaded leaves the one before, and an error in the log.
func TestSSLKeystoreReplaced(t *testing.T) {
	t.Parallel()
	ca := tlstest.Authority(t, "ca")
	first, second := ca.Issue("first", tlstest.Options{}), ca.Issue("second", tlstest.Options{})
	properties := stores(t, ca, first)
	properties["listeners"], properties["security.inter.broker.protocol"] = "SSL://127.0.0.1:0", "SSL"
	b, log := startTLS(t, properties)
	shown := func() string {
		c, err := tls.Dial("tcp", b.ListenerAddr("SSL"), &tls.Config{RootCAs: ca.Pool()})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	if got := shown(); got != "first" {
		t.Fatalf("at first: %s", got)
	}
	path := filepath.Join(t.TempDir(), "second.p12")
	if err := os.WriteFile(path, second.PKCS12(tlsPassword), 0o600); err != nil {
		t.Fatal(err)
	}
	admin := kadm.NewClient(tlsClient(t, b.ListenerAddr("SSL"), &tls.Config{RootCAs: ca.Pool()}))
	set := func(value string) {
		t.Helper()
		resp, err := admin.AlterBrokerConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "listener.name.ssl.ssl.keystore.location", Value: &value}}, 1)
		if err != nil || resp[0].Err != nil {
			t.Fatal(err, resp)
		}
	}
	set(path)
	until(t, "the new certificate", func() bool { return shown() == "second" })
	set(path + ".gone")
	until(t, "an error in the log", func() bool { return log.count("keeps its former settings") == 1 })
	if got := shown(); got != "second" {
		t.Errorf("after a bad setting: %s", got)
	}
}

// TestSSLStartRefused stops a start with one line that names listener, key and file.
func TestSSLStartRefused(t *testing.T) {
	t.Parallel()
	ca := tlstest.Authority(t, "ca")
	properties := stores(t, ca, ca.Issue("broker", tlstest.Options{}))
	properties["listeners"], properties["security.inter.broker.protocol"] = "SSL://127.0.0.1:0", "SSL"
	properties["ssl.keystore.password"] = "wrong-" + tlsPassword
	b, err := ottla.Start(t.Context(), ottla.Config{Dir: t.TempDir(), Properties: properties})
	if err == nil {
		_ = b.Close(t.Context())
		t.Fatal("it started")
	}
	want := "listener SSL: ssl.keystore.location=" + properties["ssl.keystore.location"] + ": the password in ssl.keystore.password is wrong, or the file is damaged"
	if err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}
