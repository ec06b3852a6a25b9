package config

import "strings"

// Listener is the settings that may differ from listener to listener: listener.name.<listener>.<key>, with the
// listener's name in small letters, wins over <key>, from whichever layer the two come.
type Listener struct {
	layers *Layers
	// Name is the listener's name, in capitals.
	Name string
}

// Listener is the settings of the listener with that name.
func (l *Layers) Listener(name string) Listener { return Listener{layers: l, Name: name} }

// prefixed is the name of a key for this listener alone.
func (s Listener) prefixed(key string) string {
	return "listener.name." + strings.ToLower(s.Name) + "." + key
}

// Key is the name under which a key is in force, for messages: with the prefix if it is set so.
func (s Listener) Key(key string) string {
	if name := s.prefixed(key); s.layers.IsSet(name) {
		return name
	}
	return key
}

// IsSet tells whether the key is set for this listener or for all.
func (s Listener) IsSet(key string) bool { return s.layers.IsSet(s.Key(key)) }

// Text is the value in force of a STRING, CLASS or PASSWORD key, empty for null.
func (s Listener) Text(key string) string { return s.value(key).Text }

// List is the value in force of a LIST key.
func (s Listener) List(key string) []string { return s.value(key).List }

// value passes over a dynamic value that doesn't parse, as Layers does. It panics for a name that is no key.
func (s Listener) value(key string) Value {
	k := BrokerKeys().Lookup(key)
	if k == nil {
		panic("config: unknown broker key " + key)
	}
	for _, set := range s.layers.explicit(s.prefixed(key)) {
		if v, err := k.Parse(&set.text); err == nil {
			return v
		}
	}
	v, _ := s.layers.value(key)
	return v
}
