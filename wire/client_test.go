package wire

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/clock"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (s *testServer) client(change ...func(*ClientConfig)) *Client {
	s.t.Helper()
	cfg := ClientConfig{Address: s.addr, TLS: s.tls, ClientID: "tester", Clock: clock.System{}, Timeout: patience}
	for _, f := range change {
		f(&cfg)
	}
	c, err := Dial(context.Background(), cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

func metadataRequest(name string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &name
	req.Topics = append(req.Topics, topic)
	return req
}

// TestClient sends requests from many goroutines and checks that each gets its own answer, that a
// Produce without acks returns, and that a version which the broker doesn't know gets its error.
func TestClient(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		s := serve(t, transport, func(r *Request) {
			if r.Key == keyProduce {
				r.NoReply()
				return
			}
			answerMetadata(r)
		})
		c := s.client()
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 50 {
					name := fmt.Sprint(g, "/", i)
					resp, err := c.Request(context.Background(), metadataRequest(name))
					if err != nil || *resp.(*kmsg.MetadataResponse).ClusterID != name {
						t.Errorf("%s: %v %v", name, resp, err)
						return
					}
				}
			})
		}
		wg.Wait()
		silent := kmsg.NewPtrProduceRequest()
		silent.Version, silent.Acks = 9, 0
		if resp, err := c.Request(context.Background(), silent); resp != nil || err != nil {
			t.Errorf("produce without acks: %v %v", resp, err)
		}
		c.Close()
		if _, err := c.Request(context.Background(), metadataRequest("x")); !errors.Is(err, ErrClientClosed) {
			t.Errorf("after close: %v", err)
		}
	})
}

// TestClientTimeout checks that a request times out by the clock, that its late answer does no
// harm, and that the broker's death fails what is pending.
func TestClientTimeout(t *testing.T) {
	held := make(chan *Request, 1)
	s := serve(t, TransportAuto, func(r *Request) {
		if r.CorrelationID == 1 {
			keep(r, held)
			return
		}
		answerMetadata(r)
	})
	now := clock.NewManual(time.Unix(0, 0))
	c := s.client(func(c *ClientConfig) { c.Clock, c.Timeout = now, time.Second })
	failed := make(chan error)
	request := func(name string) {
		_, err := c.Request(context.Background(), metadataRequest(name))
		failed <- err
	}
	go request("late")
	r := <-held
	// Once the request is written, only its wait can time out.
	c.writing.Lock()
	c.writing.Unlock() //nolint:staticcheck // SA2001: it waits for the writer.
	now.Advance(2 * time.Second)
	if err := <-failed; !errors.Is(err, ErrRequestTimeout) {
		t.Fatalf("got %v", err)
	}
	answerMetadata(r)
	if _, err := c.Request(context.Background(), metadataRequest("next")); err != nil {
		t.Fatalf("after a late answer: %v", err)
	}
	for _, l := range s.conns.all() {
		l.abort()
	}
	<-c.Done()
	if _, err := c.Request(context.Background(), metadataRequest("dead")); err == nil {
		t.Fatal("a request on a dead connection succeeded")
	}
}

// selfSigned is a certificate for 127.0.0.1.
func selfSigned(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		&tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
}

// TestTLS checks requests over TLS and that a plaintext client is told apart in the log.
func TestTLS(t *testing.T) {
	server, client := selfSigned(t)
	s := serve(t, TransportAuto, answerMetadata, func(c *Config) {
		c.Listeners[0].TLS, c.Listeners[0].SecurityProtocol = server, "SSL"
	})
	c := s.client(func(c *ClientConfig) { c.TLS = client })
	name := strings.Repeat("x", 30000)
	for range 20 {
		resp, err := c.Request(context.Background(), metadataRequest(name))
		if err != nil || *resp.(*kmsg.MetadataResponse).ClusterID != name {
			t.Fatal(err)
		}
	}
	plain := s.dial()
	plain.send(metadata(1, "plain"))
	eventually(t, "it is explained", func() bool { return strings.Contains(s.log.String(), "didn't begin with a TLS handshake") })
}

// TestDivert checks that a listener gives connections away by their first bytes and serves the
// others from their first byte on.
func TestDivert(t *testing.T) {
	taken := make(chan net.Conn, 1)
	s := serve(t, TransportAuto, answerMetadata, func(c *Config) {
		c.Listeners[0].Divert = func(first []byte, conn net.Conn) bool {
			if string(first) != "RAFT" {
				return false
			}
			taken <- conn
			return true
		}
	})
	kafka := s.dial()
	kafka.send(metadata(1, "kafka"))
	kafka.expectMetadata(1, "kafka")
	other := s.dial()
	other.send([]byte("RAFT and more"))
	conn := <-taken
	got := make([]byte, 13)
	for n := 0; n < len(got); {
		m, err := conn.Read(got[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += m
	}
	if string(got) != "RAFT and more" {
		t.Errorf("read %q", got)
	}
	conn.Close()
}
