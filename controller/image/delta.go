package image

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
