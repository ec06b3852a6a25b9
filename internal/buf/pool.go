// Package buf owns the memory that frames are read into and replies are encoded into.
//
// A Pool hands out Bufs whose capacity is a power of two. A Buf is counted: whoever holds it
// either owns a count or borrows from someone who does, and the last Release gives the memory
// back. Bufs larger than the pool's cap are ordinary memory that the garbage collector takes back,
// so an unusual request does not stay in memory after it is answered.
package buf

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	// minShift is the smallest class, 512 bytes.
	minShift = 9
	// maxShift is the largest class, 4 MiB: producers' default max.request.size of 1 MiB with its
	// headers falls into the 2 MiB class.
	maxShift = 22
	// MaxPooled is the largest capacity that is kept for reuse, in bytes.
	MaxPooled = 1 << maxShift
)

// Pool hands out buffers. The zero value is ready; it is safe for concurrent use.
type Pool struct {
	// Poison overwrites buffers as they are given back, so that a use after Release shows.
	// It is for tests and set before first use.
	Poison bool

	classes [maxShift - minShift + 1]sync.Pool
	inUse   atomic.Int64
}

// InUseBytes is the capacity of all buffers handed out and not given back.
func (p *Pool) InUseBytes() int64 { return p.inUse.Load() }

// Get returns a buffer of length n, whose bytes are not cleared, with one count. n may be 0.
func (p *Pool) Get(n int) *Buf {
	if n < 0 {
		panic("buf: negative length")
	}
	class := classOf(n)
	var b *Buf
	if class < 0 {
		b = &Buf{pool: p, class: class, mem: make([]byte, n)}
	} else if v := p.classes[class].Get(); v != nil {
		b = v.(*Buf)
	} else {
		b = &Buf{pool: p, class: class, mem: make([]byte, 1<<(class+minShift))}
	}
	b.length = n
	b.refs.Store(1)
	p.inUse.Add(int64(cap(b.mem)))
	return b
}

// classOf is the index of the smallest class that holds n bytes, or -1 if none does.
func classOf(n int) int {
	if n > MaxPooled {
		return -1
	}
	if n <= 1<<minShift {
		return 0
	}
	return bits.Len(uint(n-1)) - minShift
}

// Buf is a counted piece of memory.
type Buf struct {
	pool *Pool
	// class is the index in the pool's classes; -1 if the memory is not kept.
	class int
	mem   []byte
	// length is the part in use. Invariant: 0 <= length <= len(mem).
	length int
	// refs is 0 while the buffer lies in the pool.
	refs atomic.Int32
}

// Bytes is the part in use; it is valid as long as the caller, or who it borrows from, holds a count.
func (b *Buf) Bytes() []byte { return b.mem[:b.length:b.length] }

// Full is all of the memory, at least Bytes.
func (b *Buf) Full() []byte { return b.mem }

// SetLen changes the part in use. Requires: 0 <= n <= len(b.Full()), one holder.
func (b *Buf) SetLen(n int) {
	if n < 0 || n > len(b.mem) {
		panic("buf: length outside the buffer")
	}
	b.length = n
}

// Retain adds a count. Requires: the caller holds or borrows one.
func (b *Buf) Retain() {
	if b.refs.Add(1) <= 1 {
		panic("buf: retain of a released buffer")
	}
}

// Release gives one count back; with the last one the memory goes to the pool.
func (b *Buf) Release() {
	switch n := b.refs.Add(-1); {
	case n > 0:
		return
	case n < 0:
		panic("buf: released twice")
	}
	p := b.pool
	p.inUse.Add(-int64(cap(b.mem)))
	if p.Poison {
		poison(b.mem)
	}
	if b.class >= 0 {
		p.classes[b.class].Put(b)
	}
}

// poison overwrites mem, by copies rather than bytes since it is done for every buffer of a test.
func poison(mem []byte) {
	if len(mem) == 0 {
		return
	}
	mem[0] = 0xdd
	for n := 1; n < len(mem); n *= 2 {
		copy(mem[n:], mem[:n])
	}
}
