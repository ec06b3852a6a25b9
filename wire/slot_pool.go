package wire

import "sync"

// slotPool keeps slots for further requests.
type slotPool struct{ pool sync.Pool }

func (p *slotPool) get() *slot {
	if s, ok := p.pool.Get().(*slot); ok {
		return s
	}
	return &slot{}
}

// put takes back a slot that nobody knows of any more.
func (p *slotPool) put(s *slot) {
	*s = slot{}
	p.pool.Put(s)
}
