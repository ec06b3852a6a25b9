package batch

import (
	"encoding/binary"
	"math/bits"
)

// Primes of xxHash64.
const (
	xx64Prime1 uint64 = 11400714785074694791
	xx64Prime2 uint64 = 14029467366897019727
	xx64Prime3 uint64 = 1609587929392839161
	xx64Prime4 uint64 = 9650029242287828579
	xx64Prime5 uint64 = 2870177450012600261
)

// xxh64 is the xxHash64 of b with seed 0, whose lower half is the checksum of zstd frames.
func xxh64(b []byte) uint64 {
	size := uint64(len(b))
	var h uint64
	if len(b) >= 32 {
		// As variables, since the sums wrap.
		p1, p2 := xx64Prime1, xx64Prime2
		v1, v2, v3, v4 := p1+p2, p2, uint64(0), -p1
		for len(b) >= 32 {
			v1 = xx64Round(v1, binary.LittleEndian.Uint64(b[:8:len(b)]))
			v2 = xx64Round(v2, binary.LittleEndian.Uint64(b[8:16:len(b)]))
			v3 = xx64Round(v3, binary.LittleEndian.Uint64(b[16:24:len(b)]))
			v4 = xx64Round(v4, binary.LittleEndian.Uint64(b[24:32:len(b)]))
			b = b[32:]
		}
		h = bits.RotateLeft64(v1, 1) + bits.RotateLeft64(v2, 7) + bits.RotateLeft64(v3, 12) + bits.RotateLeft64(v4, 18)
		for _, v := range [...]uint64{v1, v2, v3, v4} {
			h = (h^xx64Round(0, v))*p1 + xx64Prime4
		}
	} else {
		h = xx64Prime5
	}
	h += size
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64(h^xx64Round(0, binary.LittleEndian.Uint64(b)), 27)*xx64Prime1 + xx64Prime4
	}
	if len(b) >= 4 {
		h = bits.RotateLeft64(h^uint64(binary.LittleEndian.Uint32(b))*xx64Prime1, 23)*xx64Prime2 + xx64Prime3
		b = b[4:]
	}
	for _, c := range b {
		h = bits.RotateLeft64(h^uint64(c)*xx64Prime5, 11) * xx64Prime1
	}
	h = (h ^ h>>33) * xx64Prime2
	h = (h ^ h>>29) * xx64Prime3
	return h ^ h>>32
}

func xx64Round(v, lane uint64) uint64 { return bits.RotateLeft64(v+lane*xx64Prime2, 31) * xx64Prime1 }
