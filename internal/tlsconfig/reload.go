package tlsconfig

import (
	"crypto/tls"
	"sync/atomic"
)

// Reloadable is the configuration of a listener whose stores may be replaced while it serves: connections made after
// Store have the new one.
type Reloadable struct{ current atomic.Pointer[tls.Config] }

// NewReloadable starts with c, which it takes.
func NewReloadable(c *tls.Config) *Reloadable {
	r := new(Reloadable)
	r.Store(c)
	return r
}

// Store replaces the configuration; it takes c. A session of before is resumed if its client is still trusted.
func (r *Reloadable) Store(c *tls.Config) { r.current.Store(c) }

// Config is what a listener is given; the keys of session tickets are its, and so outlive a Store.
func (r *Reloadable) Config() *tls.Config {
	return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.current.Load(), nil }}
}
