package server

import (
	"encoding/binary"
	"encoding/hex"
)

// newUUID makes a random UUID (version 4) that is none of the ids Kafka reserves.
func (s *Server) newUUID() [16]byte {
	var u [16]byte
	binary.BigEndian.PutUint64(u[:8], s.random.Uint64())
	binary.BigEndian.PutUint64(u[8:], s.random.Uint64())
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return u
}

// formatUUID is the usual form with dashes.
func formatUUID(u [16]byte) string {
	var b [36]byte
	at := 0
	for i, n := range []int{4, 2, 2, 2, 6} {
		if i > 0 {
			b[at] = '-'
			at++
		}
		at += hex.Encode(b[at:], u[:n])
		copy(u[:], u[n:])
	}
	return string(b[:])
}
