package image

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// Config resource types, as the protocol numbers them.
const (
	ResourceTopic         int8 = 2
	ResourceBroker        int8 = 4
	ResourceBrokerLogger  int8 = 8
	ResourceClientMetrics int8 = 16
	ResourceGroup         int8 = 32
)

// Resource is what a config belongs to. The resource of type ResourceBroker with an empty name is
// the default of all brokers.
type Resource struct {
	Type int8
	Name string
}

func compareResources(a, b Resource) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
}

// ConfigEntry is one explicitly set key.
type ConfigEntry struct{ Key, Value string }

// ConfigSet holds the explicitly set keys of one resource; a nil *ConfigSet holds none.
type ConfigSet struct {
	// entries is sorted by key.
	entries []ConfigEntry
}

// Get returns the value of a key, and whether it is set.
func (c *ConfigSet) Get(key string) (string, bool) {
	if c == nil {
		return "", false
	}
	i, ok := c.find(key)
	if !ok {
		return "", false
	}
	return c.entries[i].Value, true
}

// Len counts the keys that are set.
func (c *ConfigSet) Len() int {
	if c == nil {
		return 0
	}
	return len(c.entries)
}

// All yields keys and values in order of the keys.
func (c *ConfigSet) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if c == nil {
			return
		}
		for _, e := range c.entries {
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

// Map is a copy of the set as a map; never nil.
func (c *ConfigSet) Map() map[string]string {
	m := make(map[string]string, c.Len())
	for k, v := range c.All() {
		m[k] = v
	}
	return m
}

func (c *ConfigSet) find(key string) (int, bool) {
	return slices.BinarySearchFunc(c.entries, key, func(e ConfigEntry, key string) int {
		return strings.Compare(e.Key, key)
	})
}

// Config returns the explicitly set keys of a resource; nil if none is set (a nil *ConfigSet
// answers all its methods).
func (m *Image) Config(resourceType int8, name string) *ConfigSet {
	c, _ := m.configs.get(Resource{Type: resourceType, Name: name})
	return c
}

// Configs is a copy of the explicitly set keys of a resource; never nil.
func (m *Image) Configs(resourceType int8, name string) map[string]string {
	return m.Config(resourceType, name).Map()
}

// ConfigResources yields the resources that have at least one key set, by type and name.
func (m *Image) ConfigResources() iter.Seq2[Resource, *ConfigSet] { return m.configs.all(nil) }
