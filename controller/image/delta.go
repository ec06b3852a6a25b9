package image

import (
	"cmp"
	"slices"
	"strings"
)

// Delta tells what changed from one image to a later one. Lists are in order of names or ids, so
// that walking them is deterministic.
type Delta struct {
	// Old and New are the two images.
	Old, New *Image
	// Topics are the topics that were created, changed or deleted. A topic that was deleted and
	// created again under its name appears twice, the deletion first.
	Topics []TopicChange
	// Brokers are the brokers that were registered, changed or unregistered.
	Brokers []BrokerChange
	// Configs are the resources whose explicitly set keys changed.
	Configs []ConfigChange
	// Features tells whether a finalized feature level changed.
	Features bool
}

// TopicChange is a change of one topic, known by its id. Old is nil for a new topic, New for a
// deleted one. Partitions that didn't change are the same pointers in both.
type TopicChange struct{ Old, New *Topic }

// BrokerChange is a change of one broker's registration. Old is nil for a new one, New for one that
// was unregistered.
type BrokerChange struct{ Old, New *Broker }

// ConfigChange is a change of one resource's explicitly set keys; either may be nil.
type ConfigChange struct {
	Resource Resource
	Old, New *ConfigSet
}

// Empty tells that nothing a subscriber could see changed.
func (d *Delta) Empty() bool {
	return len(d.Topics) == 0 && len(d.Brokers) == 0 && len(d.Configs) == 0 && !d.Features
}

// finish puts the batch's topics into the trees and lists what changed.
func (b *builder) finish() (*Image, *Delta) {
	next := &b.next
	d := &Delta{Old: b.old, New: next, Features: b.features}
	for id, e := range b.topics {
		if e.old == nil && e.cur == nil {
			continue // created and removed by the same batch
		}
		d.Topics = append(d.Topics, TopicChange{Old: e.old, New: e.cur})
		b.index(e.old, e.cur)
		if e.cur == nil {
			next.topicsByID = next.topicsByID.without(id)
		} else {
			next.topicsByID = next.topicsByID.with(id, e.cur)
		}
	}
	for name, e := range b.names {
		if e.cur == nil {
			next.topicsByName = next.topicsByName.without(name)
		} else {
			next.topicsByName = next.topicsByName.with(name, e.cur)
		}
	}
	for id := range b.brokers {
		if c := (BrokerChange{Old: b.old.Broker(id), New: next.Broker(id)}); c.Old != nil || c.New != nil {
			d.Brokers = append(d.Brokers, c)
		}
	}
	for res := range b.configs {
		if c := (ConfigChange{Resource: res, Old: b.old.Config(res.Type, res.Name), New: next.Config(res.Type, res.Name)}); c.Old != c.New {
			d.Configs = append(d.Configs, c)
		}
	}
	d.sort()
	return next, d
}

func (d *Delta) sort() {
	slices.SortFunc(d.Topics, func(a, b TopicChange) int {
		return cmp.Or(strings.Compare(a.topic().Name, b.topic().Name), cmp.Compare(a.rank(), b.rank()), compareIDs(a.topic().ID, b.topic().ID))
	})
	slices.SortFunc(d.Brokers, func(a, b BrokerChange) int { return cmp.Compare(a.ID(), b.ID()) })
	slices.SortFunc(d.Configs, func(a, b ConfigChange) int { return compareResources(a.Resource, b.Resource) })
}

// topic is whichever of the two there is.
func (c TopicChange) topic() *Topic {
	if c.New != nil {
		return c.New
	}
	return c.Old
}

// rank puts deletions first.
func (c TopicChange) rank() int {
	if c.New == nil {
		return 0
	}
	return 1
}

// ID is the broker's id.
func (c BrokerChange) ID() int32 {
	if c.New != nil {
		return c.New.ID
	}
	return c.Old.ID
}

// Diff lists what changed from one image to another, which need not follow from it record by
// record: the way to catch up after a snapshot was loaded. It walks both images.
func Diff(old, next *Image) *Delta {
	d := &Delta{Old: old, New: next, Features: !slices.Equal(old.features, next.features)}
	for t := range old.Topics() {
		if n := next.TopicByID(t.ID); n != t {
			d.Topics = append(d.Topics, TopicChange{Old: t, New: n})
		}
	}
	for t := range next.Topics() {
		if old.TopicByID(t.ID) == nil {
			d.Topics = append(d.Topics, TopicChange{New: t})
		}
	}
	for _, b := range old.brokers {
		if n := next.Broker(b.ID); n != b {
			d.Brokers = append(d.Brokers, BrokerChange{Old: b, New: n})
		}
	}
	for _, b := range next.brokers {
		if old.Broker(b.ID) == nil {
			d.Brokers = append(d.Brokers, BrokerChange{New: b})
		}
	}
	for res, c := range old.configs.all(nil) {
		if n := next.Config(res.Type, res.Name); n != c {
			d.Configs = append(d.Configs, ConfigChange{Resource: res, Old: c, New: n})
		}
	}
	for res, c := range next.configs.all(nil) {
		if old.Config(res.Type, res.Name) == nil {
			d.Configs = append(d.Configs, ConfigChange{Resource: res, New: c})
		}
	}
	d.sort()
	return d
}
