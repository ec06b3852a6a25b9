package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/kerror"
)

// TestUnreachableListeners warns of a listener on all addresses that is advertised as the loopback address
// (D01), and of no other.
func TestUnreachableListeners(t *testing.T) {
	for _, tc := range []struct {
		listeners, advertised string
		warns                 bool
	}{
		{"PLAINTEXT://:9092", "PLAINTEXT://localhost:9092", true},
		{"PLAINTEXT://0.0.0.0:9092", "PLAINTEXT://127.0.0.1:9092", true},
		{"PLAINTEXT://[::]:9092", "PLAINTEXT://[::1]:9092", true},
		{"PLAINTEXT://:9092", "PLAINTEXT://broker.example:9092", false},
		{"PLAINTEXT://:9092", "", false},
		{"PLAINTEXT://localhost:9092", "PLAINTEXT://localhost:9092", false},
	} {
		static := map[string]string{"listeners": tc.listeners}
		if tc.advertised != "" {
			static["advertised.listeners"] = tc.advertised
		}
		_, warnings, err := Load(static)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(warnings, "\n"), "bound to all addresses"); got != tc.warns {
			t.Errorf("%s as %s: %q", tc.listeners, tc.advertised, warnings)
		}
	}
}

// TestFixedListeners refuses new listeners as a dynamic setting, which would change nothing, and takes the
// ones in force.
func TestFixedListeners(t *testing.T) {
	b, _, err := Load(map[string]string{"listeners": "PLAINTEXT://h:1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.ValidateBroker(map[string]string{"listeners": "PLAINTEXT://h:1"}, false); err != nil {
		t.Errorf("the listeners in force: %v", err)
	}
	err = b.ValidateBroker(map[string]string{"listeners": "PLAINTEXT://h:2"}, false)
	if kerror.CodeOf(err) != 42 || !strings.HasPrefix(*kerror.MessageOf(err), "listeners can't be changed while the broker runs") {
		t.Errorf("other listeners: %v", err)
	}
}

// TestIdleDynamic names the dynamic settings that change nothing while the broker runs.
func TestIdleDynamic(t *testing.T) {
	b, _, err := Load(ZeroConfig())
	if err != nil {
		t.Fatal(err)
	}
	b = b.With(map[string]string{"max.connections": "5", "num.network.threads": "4", "no.such.key": "1"},
		map[string]string{"log.retention.ms": "5", "num.io.threads": "9"})
	if got := fmt.Sprint(b.IdleDynamic()); got != "[no.such.key num.io.threads num.network.threads]" {
		t.Error(got)
	}
}

// TestMaxConnectionsByListener reads the listeners' own limits, dynamic ones before the file's.
func TestMaxConnectionsByListener(t *testing.T) {
	b, _, err := Load(map[string]string{
		"listeners": "PLAINTEXT://h:1,IN://h:2,C://h:3", "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,IN:PLAINTEXT,C:PLAINTEXT",
		"listener.name.in.max.connections": "7", "listener.name.plaintext.max.connections": "8",
	})
	if err != nil {
		t.Fatal(err)
	}
	b = b.With(map[string]string{"listener.name.in.max.connections": "9"}, nil)
	if got := fmt.Sprint(b.Network.MaxConnectionsByListener); got != "map[IN:9 PLAINTEXT:8]" {
		t.Error(got)
	}
}
