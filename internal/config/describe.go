package config

import (
	"maps"
	"slices"
	"strings"
)

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

// describe lists the keys of a set, internal ones only where they are overridden. The value is the one in
// force; the synonyms are the override and what is set on the broker for the first synonym, as Kafka's
// ConfigHelper lists them.
func (b *Broker) describe(set *KeySet, overrides map[string]string, own Source) []Row {
	rows := make([]Row, 0, len(set.keys))
	for i := range set.keys {
		k := &set.keys[i]
		if _, overridden := overrides[k.Name]; k.Internal && !overridden {
			continue
		}
		v, _ := b.resolve(k, overrides, own)
		row := Row{Name: k.Name, Type: k.Type, Value: k.Format(v), Sensitive: k.Sensitive()}
		if _, ok := overrides[k.Name]; ok {
			row.Synonyms = append(row.Synonyms, RowSynonym{k.Name, row.Value, own})
		}
		switch {
		case len(k.Synonyms) > 0:
			row.Synonyms = append(row.Synonyms, b.brokerSynonyms(k.Synonyms[0].Name, row.Sensitive)...)
		case own == SourceGroup && k.HasDefault:
			row.Synonyms = append(row.Synonyms, RowSynonym{k.Name, &k.Default, SourceDefault})
		}
		rows = append(rows, row.finish())
	}
	return rows
}

// finish takes the source from the strongest synonym and hides a sensitive value.
func (r Row) finish() Row {
	r.Source = SourceDefault
	if len(r.Synonyms) > 0 {
		r.Source = r.Synonyms[0].Source
	}
	if r.Sensitive {
		r.Value = nil
	}
	return r
}

// DescribeBroker lists this broker's keys by name: those of the table, and whatever else is set.
func (b *Broker) DescribeBroker() []Row {
	set := b.current()
	keys := BrokerKeys()
	names := make(map[string]bool, len(keys.keys))
	for i := range keys.keys {
		if !keys.keys[i].Internal {
			names[keys.keys[i].Name] = true
		}
	}
	for name := range set {
		names[name] = true
	}
	rows := make([]Row, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row := brokerRow(name)
		if text, ok := set[name]; ok {
			row.Value = canonical(name, text)
		} else if k := keys.Lookup(name); k.HasDefault {
			row.Value = &k.Default
		}
		row.Synonyms = b.brokerSynonyms(name, row.Sensitive)
		rows = append(rows, row.finish())
	}
	return rows
}

// DescribeDefaultBroker lists what is set dynamically for all brokers, by name.
func (b *Broker) DescribeDefaultBroker() []Row {
	rows := make([]Row, 0, len(b.DynamicDefault))
	for _, name := range slices.Sorted(maps.Keys(b.DynamicDefault)) {
		row := brokerRow(name)
		row.Value = canonical(name, b.DynamicDefault[name])
		text := b.DynamicDefault[name]
		row.Synonyms = []RowSynonym{{name, hide(text, row.Sensitive), SourceDynamicDefaultBroker}}
		rows = append(rows, row.finish())
	}
	return rows
}

// brokerRow fills in what doesn't depend on values. An unknown key is taken for sensitive, as in Kafka.
func brokerRow(name string) Row {
	k := lookupDynamic(name)
	if k == nil {
		return Row{Name: name, Sensitive: true, ReadOnly: true}
	}
	return Row{Name: name, Type: k.Type, Sensitive: k.Sensitive(), ReadOnly: k.Name != name || k.UpdateMode == ReadOnly}
}

// canonical is the text of a value as Kafka shows it; one that doesn't parse is shown as it is.
func canonical(name, text string) *string {
	if k := lookupDynamic(name); k != nil {
		if v, err := k.Parse(&text); err == nil {
			return k.Format(v)
		}
	}
	return &text
}

func hide(text string, sensitive bool) *string {
	if sensitive {
		return nil
	}
	return &text
}

// current is the broker's settings in force. A dynamic setting takes the place of all that stand for the
// same thing: log.retention.ms hides log.retention.hours.
func (b *Broker) current() map[string]string {
	set := maps.Clone(b.Static)
	if set == nil {
		set = make(map[string]string)
	}
	for _, layer := range []map[string]string{b.DynamicDefault, b.DynamicBroker} {
		for _, name := range slices.Sorted(maps.Keys(layer)) {
			for _, s := range synonymGroup(name) {
				delete(set, s)
			}
			set[name] = layer[name]
		}
	}
	return set
}

// brokerSynonyms lists what is set for a broker key and the keys that stand for the same thing, by source and
// then by key, defaults last. As in Kafka the list starts at the first entry for the key itself, so it is empty
// when only a weaker key is set.
func (b *Broker) brokerSynonyms(name string, sensitive bool) []RowSynonym {
	group := synonymGroup(name)
	var list []RowSynonym
	for _, layer := range []struct {
		values map[string]string
		source Source
	}{
		{b.DynamicBroker, SourceDynamicBroker},
		{b.DynamicDefault, SourceDynamicDefaultBroker},
		{b.Static, SourceStaticBroker},
	} {
		for _, s := range group {
			if text, ok := layer.values[s]; ok {
				list = append(list, RowSynonym{s, hide(text, sensitive), layer.source})
			}
		}
	}
	for _, s := range group {
		if k := BrokerKeys().Lookup(s); k != nil && k.HasDefault {
			list = append(list, RowSynonym{s, hide(k.Default, sensitive), SourceDefault})
		}
	}
	start := slices.IndexFunc(list, func(s RowSynonym) bool { return s.Name == name })
	if start < 0 {
		return nil
	}
	return list[start:]
}

// synonymGroup lists the broker keys that give the same setting, strongest first.
func synonymGroup(name string) []string {
	switch name {
	case "log.roll.ms", "log.roll.hours":
		return []string{"log.roll.ms", "log.roll.hours"}
	case "log.roll.jitter.ms", "log.roll.jitter.hours":
		return []string{"log.roll.jitter.ms", "log.roll.jitter.hours"}
	case "log.flush.interval.ms":
		return []string{"log.flush.interval.ms", "log.flush.scheduler.interval.ms"}
	case "log.retention.ms", "log.retention.minutes", "log.retention.hours":
		return []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"}
	}
	if k, ok := listenerKey(name); ok {
		return []string{name, k.Name}
	}
	return []string{name}
}

// lookupBroker finds the key behind a name, which may carry a listener's prefix.
func lookupBroker(name string) *Key {
	if k := BrokerKeys().Lookup(name); k != nil {
		return k
	}
	k, _ := listenerKey(name)
	return k
}

// listenerKey finds the key behind listener.name.<listener>.<key> and listener.name.<listener>.<mechanism>.<key>.
func listenerKey(name string) (*Key, bool) {
	rest, ok := strings.CutPrefix(name, "listener.name.")
	if !ok {
		return nil, false
	}
	_, rest, ok = strings.Cut(rest, ".")
	if !ok {
		return nil, false
	}
	if k := BrokerKeys().Lookup(rest); k != nil {
		return k, true
	}
	if _, after, ok := strings.Cut(rest, "."); ok && (strings.HasPrefix(after, "sasl.") || after == "connections.max.reauth.ms") {
		if k := BrokerKeys().Lookup(after); k != nil {
			return k, true
		}
	}
	return nil, false
}
