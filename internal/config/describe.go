package config

// Row is one line of DescribeConfigs.
type Row struct {
	Name string
	// Value is nil for null, and for what is sensitive.
	Value     *string
	Source    Source
	Type      Type
	ReadOnly  bool
	Sensitive bool
	// Synonyms is everything that could give the value, strongest first; the first is the one in force.
	Synonyms []RowSynonym
}

// IsDefault is DescribeConfigs v0's flag.
func (r *Row) IsDefault() bool { return r.Source == SourceDefault }

// RowSynonym is a setting that gives, or would give, a row's value.
type RowSynonym struct {
	Name   string
	Value  *string
	Source Source
}

// DescribeTopic lists all keys of a topic with these overrides, by name.
func (b *Broker) DescribeTopic(overrides map[string]string) []Row {
	return b.describe(TopicKeys(), overrides, SourceTopic)
}

// DescribeGroup lists all keys of a group with these overrides, by name.
func (b *Broker) DescribeGroup(overrides map[string]string) []Row {
	return b.describe(GroupKeys(), overrides, SourceGroup)
}

// DescribeClientMetrics lists all keys of a client metrics subscription, by name.
func (b *Broker) DescribeClientMetrics(values map[string]string) []Row {
	return b.describe(ClientMetricsKeys(), values, SourceClientMetrics)
}

func (b *Broker) describe(set *KeySet, overrides map[string]string, own Source) []Row { return nil }

// DescribeBroker lists all keys of this broker, by name.
func (b *Broker) DescribeBroker() []Row { return nil }

// DescribeDefaultBroker lists what is set dynamically for all brokers.
func (b *Broker) DescribeDefaultBroker() []Row { return nil }
