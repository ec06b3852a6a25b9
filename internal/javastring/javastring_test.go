package javastring

import (
	"testing"
	"unicode/utf16"
)

// TestLen compares with the standard library's encoding, for runes of each length and for bytes that
// are no rune.
func TestLen(t *testing.T) {
	for _, s := range []string{"", "group", "Grüße", "雪", "a😀b", "\xff\xfe", "\U0010ffff"} {
		if got, want := Len(s), len(utf16.Encode([]rune(s))); got != want {
			t.Errorf("Len(%q) = %d, want %d", s, got, want)
		}
	}
}
