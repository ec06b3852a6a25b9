package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStartTellsWhyItFailed starts a program that ends at once: the error has its last words, and the settings
// it was given are left to look at.
func TestStartTellsWhyItFailed(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "broker")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\necho no luck with $3 >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Bin: bin, Dir: dir, Properties: "node.id=1\n"})
	if err == nil || !strings.Contains(err.Error(), "no luck with") || !strings.Contains(err.Error(), "exit status 3") {
		t.Fatalf("got %v", err)
	}
	settings, err := os.ReadFile(filepath.Join(dir, "server.properties"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"node.id=1\n", "listeners=PLAINTEXT://127.0.0.1:", "log.dirs=" + dir} {
		if !strings.Contains(string(settings), want) {
			t.Errorf("settings lack %q:\n%s", want, settings)
		}
	}
}

// TestStartNeedsABinary names what is missing.
func TestStartNeedsABinary(t *testing.T) {
	_, err := Start(t.Context(), Options{Bin: filepath.Join(t.TempDir(), "none"), Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "none") {
		t.Fatalf("got %v", err)
	}
}
