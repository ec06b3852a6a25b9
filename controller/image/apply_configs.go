package image

import (
	"errors"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/record/metadata"
)

func (b *builder) applyConfig(r *metadata.ConfigRecord) error {
	if r.Name == "" {
		return errors.New("empty config key")
	}
	res := Resource{Type: r.ResourceType, Name: r.ResourceName}
	old, _ := b.next.configs.get(res)
	b.setConfig(res, old.with(r.Name, r.Value))
	return nil
}

// setConfig replaces the keys of a resource; an empty set removes the resource.
func (b *builder) setConfig(res Resource, c *ConfigSet) {
	if c.Len() == 0 {
		b.next.configs = b.next.configs.without(res)
	} else {
		b.next.configs = b.next.configs.with(res, c)
	}
	b.configs[res] = struct{}{}
}

// with returns a set in which key has a value or, if value is nil, isn't set.
func (c *ConfigSet) with(key string, value *string) *ConfigSet {
	if c == nil {
		c = &ConfigSet{}
	}
	i, found := c.find(key)
	entries := slices.Clone(c.entries)
	switch {
	case value == nil && found:
		entries = slices.Delete(entries, i, i+1)
	case value == nil:
		return c
	case found:
		entries[i].Value = *value
	default:
		entries = slices.Insert(entries, i, ConfigEntry{Key: key, Value: *value})
	}
	return &ConfigSet{entries: entries}
}

func (b *builder) applyFeature(r *metadata.FeatureLevelRecord) error {
	if r.Name == "" || r.FeatureLevel < 0 {
		return errors.New("empty feature name or negative level")
	}
	i, found := slices.BinarySearchFunc(b.next.features, r.Name, func(f Feature, name string) int {
		return strings.Compare(f.Name, name)
	})
	list := slices.Clone(b.next.features)
	switch f := (Feature{Name: r.Name, Level: r.FeatureLevel}); {
	case r.FeatureLevel == 0 && found:
		list = slices.Delete(list, i, i+1)
	case r.FeatureLevel == 0:
	case found:
		list[i] = f
	default:
		list = slices.Insert(list, i, f)
	}
	b.next.features, b.features = list, true
	return nil
}
