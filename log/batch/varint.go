package batch

import "math/bits"

// maxVarintBytes and maxVarlongBytes bound the encodings of an int32 and an int64.
const (
	maxVarintBytes  = 5
	maxVarlongBytes = 10
)

// getVarint decodes a zig-zag int32. n is its size; 0 says that b is too short, -1 that the
// fifth byte doesn't end it. Bits beyond the 32nd are dropped, as in Kafka's ByteUtils.
func getVarint(b []byte) (v int32, n int) {
	if len(b) > 0 && b[0] < 0x80 { // Nearly all of them.
		u := uint32(b[0])
		return int32(u>>1) ^ -int32(u&1), 1
	}
	var u uint32
	for i := range min(len(b), maxVarintBytes) {
		u |= uint32(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return int32(u>>1) ^ -int32(u&1), i + 1
		}
	}
	if len(b) >= maxVarintBytes {
		return 0, -1
	}
	return 0, 0
}

// getVarlong decodes a zig-zag int64, with the same n as getVarint.
func getVarlong(b []byte) (v int64, n int) {
	var u uint64
	for i := range min(len(b), maxVarlongBytes) {
		u |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
	}
	if len(b) >= maxVarlongBytes {
		return 0, -1
	}
	return 0, 0
}

// appendVarint appends a zig-zag int32.
func appendVarint(b []byte, v int32) []byte {
	return appendUvarint(b, uint64(uint32(v<<1)^uint32(v>>31)))
}

// appendVarlong appends a zig-zag int64.
func appendVarlong(b []byte, v int64) []byte {
	return appendUvarint(b, uint64(v<<1)^uint64(v>>63))
}

func appendUvarint(b []byte, u uint64) []byte {
	for u >= 0x80 {
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

// sizeVarint is the encoded size of an int32.
func sizeVarint(v int32) int {
	return (bits.Len32(uint32(v<<1)^uint32(v>>31)|1) + 6) / 7
}

// sizeVarlong is the encoded size of an int64.
func sizeVarlong(v int64) int {
	return (bits.Len64(uint64(v<<1)^uint64(v>>63)|1) + 6) / 7
}
