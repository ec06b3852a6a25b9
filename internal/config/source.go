package config

import "strings"

// Source is where a value comes from, numbered as in DescribeConfigs.
type Source int8

// The sources of DescribeConfigs (v1+).
const (
	SourceUnknown              Source = 0
	SourceTopic                Source = 1
	SourceDynamicBroker        Source = 2
	SourceDynamicDefaultBroker Source = 3
	SourceStaticBroker         Source = 4
	SourceDefault              Source = 5
	SourceDynamicBrokerLogger  Source = 6
	SourceClientMetrics        Source = 7
	SourceGroup                Source = 8
)

// String is Kafka's name of the source.
func (s Source) String() string {
	names := [...]string{
		"UNKNOWN", "DYNAMIC_TOPIC_CONFIG", "DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG",
		"STATIC_BROKER_CONFIG", "DEFAULT_CONFIG", "DYNAMIC_BROKER_LOGGER_CONFIG", "DYNAMIC_CLIENT_METRICS_CONFIG",
		"DYNAMIC_GROUP_CONFIG",
	}
	if int(s) < len(names) && s >= 0 {
		return names[s]
	}
	return names[0]
}

// Layers is the settings of one broker by where they come from; a nil map is empty. The maps are
// shared and must not be changed.
type Layers struct {
	// DynamicBroker is set for this broker, DynamicDefault for all of the cluster.
	DynamicBroker, DynamicDefault map[string]string
	// Static is the file, the environment and the command line.
	Static map[string]string
}

// setting is a text with its source; Source is SourceDefault where it is the key's default.
type setting struct {
	name   string
	text   string
	source Source
}

// explicit lists what is set for a broker key, strongest first, without the default.
func (l *Layers) explicit(name string) []setting {
	var found []setting
	for _, layer := range []struct {
		values map[string]string
		source Source
	}{
		{l.DynamicBroker, SourceDynamicBroker},
		{l.DynamicDefault, SourceDynamicDefaultBroker},
		{l.Static, SourceStaticBroker},
	} {
		if text, ok := layer.values[name]; ok {
			found = append(found, setting{name, text, layer.source})
		}
	}
	return found
}

// value is the parsed value in force of a broker key, with its source. A dynamic value that doesn't
// parse, as a newer version may have left, is passed over; static ones were checked at start.
func (l *Layers) value(name string) (Value, Source) {
	k := BrokerKeys().Lookup(name)
	if k == nil {
		panic("config: unknown broker key " + name)
	}
	for _, s := range l.explicit(name) {
		if v, err := k.Parse(&s.text); err == nil {
			return v, s.source
		}
	}
	return k.defaultValue(), SourceDefault
}

// Bool is the value in force of a BOOLEAN broker key. This and its like panic for a name that is no key.
func (l *Layers) Bool(name string) bool {
	v, _ := l.value(name)
	return v.Bool
}

// Int is the value in force of an INT, SHORT or LONG broker key, 0 for null.
func (l *Layers) Int(name string) int64 {
	v, _ := l.value(name)
	return v.Int
}

// Double is the value in force of a DOUBLE broker key.
func (l *Layers) Double(name string) float64 {
	v, _ := l.value(name)
	return v.Double
}

// Text is the value in force of a STRING, CLASS or PASSWORD broker key, empty for null.
func (l *Layers) Text(name string) string {
	v, _ := l.value(name)
	return v.Text
}

// List is the value in force of a LIST broker key.
func (l *Layers) List(name string) []string {
	v, _ := l.value(name)
	return v.List
}

// byListener is the value in force of an INT broker key for each listener that has one of its own:
// listener.name.<listener>.<key>, with the listener's name in small letters.
func (l *Layers) byListener(e Endpoints, key string) map[string]int32 {
	var values map[string]int32
	for _, b := range e.Listeners {
		for _, s := range l.explicit("listener.name." + strings.ToLower(b.Name) + "." + key) {
			if v, err := BrokerKeys().Lookup(key).Parse(&s.text); err == nil {
				if values == nil {
					values = make(map[string]int32)
				}
				values[b.Name] = int32(v.Int)
				break
			}
		}
	}
	return values
}

// IsSet tells whether the key is set anywhere.
func (l *Layers) IsSet(name string) bool { return len(l.explicit(name)) > 0 }
