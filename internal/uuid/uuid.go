// Package uuid makes and prints uuids: the ids of topics, directories, incarnations and members. They are
// plain [16]byte values, as the protocol carries them. Its functions share nothing.
package uuid

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// New makes a random uuid (version 4), which is none of the ids Kafka reserves, out of two calls of
// random.
func New(random func() uint64) [16]byte {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], random())
	binary.BigEndian.PutUint64(id[8:], random())
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// Format prints an id as Kafka's Uuid does: base64 with the alphabet for URLs, without padding.
func Format(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// Parse reads what Format printed, with or without padding.
func Parse(s string) (id [16]byte, err error) {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%.40q is not a uuid", s)
	}
	return [16]byte(b), nil
}

// FormatDashed prints an id as Java's UUID does, in hexadecimal with dashes; member ids end so.
func FormatDashed(id [16]byte) string {
	var b [36]byte
	at := 0
	for i, n := range []int{4, 2, 2, 2, 6} {
		if i > 0 {
			b[at] = '-'
			at++
		}
		at += hex.Encode(b[at:], id[:n])
		copy(id[:], id[n:])
	}
	return string(b[:])
}
