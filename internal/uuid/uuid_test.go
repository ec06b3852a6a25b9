package uuid

import (
	"math/rand/v2"
	"testing"
)

// TestFormat compares both forms with what Java prints of one id, and reads the first one back.
func TestFormat(t *testing.T) {
	id := [16]byte{0xe1, 0xf5, 0xf3, 0xd1, 0xb3, 0x27, 0x43, 0x93, 0xb4, 0xc6, 0x36, 0x76, 0x84, 0x61, 0xc7, 0xf5}
	const short, dashed = "4fXz0bMnQ5O0xjZ2hGHH9Q", "e1f5f3d1-b327-4393-b4c6-36768461c7f5"
	if got := Format(id); got != short {
		t.Errorf("Format: %s, want %s", got, short)
	}
	if got := FormatDashed(id); got != dashed {
		t.Errorf("FormatDashed: %s, want %s", got, dashed)
	}
	for _, s := range []string{short, short + "=="} {
		if got, err := Parse(s); err != nil || got != id {
			t.Errorf("Parse(%s): %x, %v", s, got, err)
		}
	}
}

// TestParseRefuses reads texts that are no ids.
func TestParseRefuses(t *testing.T) {
	for _, s := range []string{"", "AAAA", "4fXz0bMnQ5O0xjZ2hGHH9QAA", "4fXz0bMnQ5O0xjZ2hGHH9*", "+/Xz0bMnQ5O0xjZ2hGHH9Q"} {
		if _, err := Parse(s); err == nil {
			t.Errorf("Parse(%q) took it", s)
		}
	}
}

// TestNew checks version and variant (RFC 9562) of random ids.
func TestNew(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		if id := New(rng.Uint64); id[6]>>4 != 4 || id[8]>>6 != 2 {
			t.Fatalf("New: %x", id)
		}
	}
}
