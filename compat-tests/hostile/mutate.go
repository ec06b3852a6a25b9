package hostile

import (
	"bytes"
	"encoding/binary"
)

// frameHead is where a frame's body begins: after size, key, version and correlation id.
const frameHead = 12

// hostileInts are lengths and counts that make a decoder allocate, overflow or loop if it believes them.
var hostileInts = [...]uint32{
	0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 0x7ffffffe, 0x10000000, 0x01000000, 0x00100000, 65536, 32768, 1000, 0,
}

// hostileVarints are the same in the flexible versions' coding, and codings that never end or overflow.
var hostileVarints = [...][]byte{
	{0xff, 0xff, 0xff, 0xff, 0x0f}, {0xff, 0xff, 0xff, 0xff, 0x07}, {0x80, 0x80, 0x80, 0x80, 0x08}, {0xff, 0xff, 0x7f},
	{0x80, 0x80, 0x80, 0x01}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, bytes.Repeat([]byte{0xff}, 11), {0x80, 0x00}, {0},
}

// mutated changes a legal frame, which it may reuse, in one of many ways. Its size is true.
func (l *legal) mutated(frame []byte) []byte {
	at := frameHead + l.rand.IntN(max(1, len(frame)-frameHead))
	at = min(at, len(frame)-1)
	switch l.rand.IntN(11) {
	case 0, 1: // Flipped bits.
		for range 1 + l.rand.IntN(8) {
			frame[frameHead+l.rand.IntN(len(frame)-frameHead)] ^= 1 << l.rand.IntN(8)
		}
	case 2: // Cut.
		frame = frame[:at]
	case 3: // Longer than its fields.
		frame = append(frame, l.bytes(1+l.rand.IntN(200))...)
	case 4: // A count or length of four bytes.
		frame = overwrite(frame, at, binary.BigEndian.AppendUint32(nil, hostileInts[l.rand.IntN(len(hostileInts))]))
	case 5: // One of two bytes.
		frame = overwrite(frame, at, binary.BigEndian.AppendUint16(nil, uint16(hostileInts[l.rand.IntN(len(hostileInts))]>>(16*l.rand.IntN(2)))))
	case 6, 7: // One of a varying length, over what was there or before it.
		v := hostileVarints[l.rand.IntN(len(hostileVarints))]
		if l.rand.IntN(2) == 0 {
			frame = overwrite(frame, at, v)
		} else {
			frame = splice(frame, at, at, v)
		}
	case 8: // Bytes that repeat, or that are gone.
		end := min(len(frame), at+l.rand.IntN(40))
		if l.rand.IntN(2) == 0 {
			frame = splice(frame, at, at, bytes.Clone(frame[at:end]))
		} else {
			frame = splice(frame, at, end, nil)
		}
	case 9: // Another API or version.
		binary.BigEndian.PutUint16(frame[4+2*l.rand.IntN(2):], uint16(l.rand.IntN(100)-2))
	default: // Nothing but the head is right.
		frame = append(frame[:frameHead], l.bytes(l.rand.IntN(300))...)
	}
	return sized(frame)
}

// tagged is a legal frame that ends with a very long list of tagged fields.
func (l *legal) tagged(frame []byte) []byte {
	n := 1000 + l.rand.IntN(60_000)
	frame = binary.AppendUvarint(frame[:len(frame)-1], uint64(n))
	for i := range n {
		frame = binary.AppendUvarint(frame, uint64(1000+i))
		frame = append(frame, 0)
	}
	return sized(frame)
}

// swollen is swollenAt at a random place.
func (l *legal) swollen(frame []byte) []byte {
	return l.swollenAt(frame, frameHead+l.rand.IntN(len(frame)-frameHead+1), l.rand.IntN(2) == 0, byte(l.rand.IntN(2)))
}

// swollenAt claims, at a place of a legal frame, about as many elements as there are bytes after it: the dearest request for its size if
// the place is an array's count, as the bytes that follow (0 or 1) are empty strings and arrays.
func (l *legal) swollenAt(frame []byte, at int, flexible bool, filler byte) []byte {
	n := 16<<10 + l.rand.IntN(256<<10)
	frame = frame[:at]
	count := n / (1 + l.rand.IntN(8))
	if flexible {
		frame = binary.AppendUvarint(frame, uint64(count))
	} else {
		frame = binary.BigEndian.AppendUint32(frame, uint32(count))
	}
	return sized(append(frame, bytes.Repeat([]byte{filler}, n)...))
}

// liar announces a size that isn't the frame's.
func (l *legal) liar(frame []byte) []byte {
	size := hostileInts[l.rand.IntN(len(hostileInts))]
	switch l.rand.IntN(3) {
	case 0:
		size = uint32(len(frame) - 4 + l.rand.IntN(100) - 50)
	case 1:
		size = l.rand.Uint32()
	}
	binary.BigEndian.PutUint32(frame, size)
	return frame
}

// banners are the first bytes of other protocols.
var banners = [...]string{
	"GET / HTTP/1.1\r\nHost: broker\r\n\r\n", "POST /topics/t HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	"SSH-2.0-OpenSSH_9.7\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "EHLO broker\r\n", "*1\r\n$4\r\nPING\r\n", "\x00", "\x00\x00\x00",
	"\x03\x00\x00\x13\x0e\xe0\x00\x00\x00\x00\x00\x01\x00\x08\x00\x03\x00\x00\x00",
}

func overwrite(frame []byte, at int, with []byte) []byte {
	return append(frame[:at], append(bytes.Clone(with), frame[min(len(frame), at+len(with)):]...)...)
}

func splice(frame []byte, from, to int, with []byte) []byte {
	return append(frame[:from:from], append(bytes.Clone(with), frame[to:]...)...)
}

// sized sets a frame's size to what it has.
func sized(frame []byte) []byte {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}
