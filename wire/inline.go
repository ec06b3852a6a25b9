package wire

import "encoding/binary"

// maxInlineFrame is the largest request that an event loop runs itself, in bytes: what takes long to decode would hold up
// the loop's other connections.
const maxInlineFrame = 1 << 10

// mayInline says whether the next request is one that the event loop may run. Requires: l.mu held.
func (l *link) mayInline() bool {
	s := l.conn.order.next()
	if s == nil || l.server.cfg.Inline == nil {
		return false
	}
	frame := s.frame.Bytes()
	if len(frame) < minFrame || len(frame) > maxInlineFrame {
		return false
	}
	key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
	return l.server.cfg.Inline(l.session.Listener, key, version)
}

// runInline is run on an event loop. A request that it may not run, or that has to wait for something, and those after it,
// go to a worker.
func (l *link) runInline() {
	for {
		l.mu.Lock()
		if !l.dead && !l.closing && l.conn.CanStart() && !l.mayInline() {
			l.mu.Unlock()
			l.startWorker(l)
			return
		}
		s := l.serveNext(true)
		if s == nil {
			return
		}
		l.mu.Lock()
		s.inline = false
		l.mu.Unlock()
		if rest := s.request.rest; rest != nil {
			l.startWorker(taskFunc(func() {
				rest()
				l.server.bodies.put(s.request.Body)
				l.run()
			}))
			return
		}
		l.reuse(s)
	}
}
