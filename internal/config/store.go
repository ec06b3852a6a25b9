package config

import "sync/atomic"

// Store holds the settings in force of a running node; safe for use by many goroutines.
type Store struct{ current atomic.Pointer[Broker] }

// NewStore starts with the settings of the file.
func NewStore(b *Broker) *Store {
	s := new(Store)
	s.current.Store(b)
	return s
}

// Broker is the settings in force.
func (s *Store) Broker() *Broker { return s.current.Load() }

// SetDynamic replaces the dynamic settings: broker is those of this node, cluster those of all. It takes
// the maps and returns the new settings. Called from one goroutine, in the order of images.
func (s *Store) SetDynamic(broker, cluster map[string]string) *Broker {
	b := s.current.Load().With(broker, cluster)
	s.current.Store(b)
	return b
}
