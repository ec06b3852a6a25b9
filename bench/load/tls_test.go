package load

import (
	"crypto/tls"
	"io"
	"strings"
	"testing"

	"github.com/ottla/ottla/bench/internal/node"
)

// TestConnect speaks TLS to what the settings of a secured node say, and only where the address asks for it.
func TestConnect(t *testing.T) {
	settings, err := node.SecureSettings(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var path string
	for _, line := range settings {
		if value, ok := strings.CutPrefix(line, "ssl.keystore.location="); ok {
			path = value
		}
	}
	pair, err := tls.LoadX509KeyPair(path, path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	echo := func(address string) string {
		c, err := connect(address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 5)
		_, _ = io.ReadFull(c, got)
		return string(got)
	}
	if got := echo(SecureScheme + l.Addr().String()); got != "hello" {
		t.Errorf("over TLS: %q", got)
	}
	if got := echo(l.Addr().String()); got == "hello" {
		t.Error("plaintext is answered by a TLS listener")
	}
}
