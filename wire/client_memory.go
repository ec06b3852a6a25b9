package wire

// reusedMemory holds one response after the other, where each is done with before the next one is asked for.
// Fresh memory for each costs clearing, copying while it grows, and collecting: for a follower of a busy leader,
// whose responses have megabytes, an eighth of its CPU. It belongs to one goroutine.
type reusedMemory struct {
	mem []byte
	// spare counts responses in a row that needed little of mem.
	spare int
}

// fetchKey is Fetch's API key.
const fetchKey = 1

// keptBytes is what is kept in any case.
const keptBytes = 64 << 10

// spareResponses is after how many responses that needed less than a quarter memory is given up.
const spareResponses = 16

// keep keeps a response's memory for the next one, unless it has been much too large for long.
func (m *reusedMemory) keep(frame []byte) {
	if cap(frame) <= keptBytes || len(frame) >= cap(frame)/4 {
		m.mem, m.spare = frame[:0], 0
		return
	}
	m.mem = frame[:0]
	if m.spare++; m.spare >= spareResponses {
		m.mem, m.spare = nil, 0
	}
}

// memoryFor is what to read a response into, with nothing in it; nil for fresh memory.
func (c *Client) memoryFor(id int32) (mem []byte, reused bool) {
	if !c.cfg.ReuseFetches {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.pending[id]; k == nil || k.key != fetchKey {
		return nil, false
	}
	return c.fetched.mem, true
}
