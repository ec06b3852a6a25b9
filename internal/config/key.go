package config

import "sync"

// Type is the type of a key's value, numbered as in DescribeConfigs.
type Type int8

// The types of DescribeConfigs (v3+).
const (
	TypeUnknown  Type = 0
	TypeBoolean  Type = 1
	TypeString   Type = 2
	TypeInt      Type = 3
	TypeShort    Type = 4
	TypeLong     Type = 5
	TypeDouble   Type = 6
	TypeList     Type = 7
	TypeClass    Type = 8
	TypePassword Type = 9
)

// String is Kafka's name of the type.
func (t Type) String() string {
	names := [...]string{"UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"}
	if int(t) < len(names) && t >= 0 {
		return names[t]
	}
	return names[0]
}

// Importance is how much a user needs to know of a key.
type Importance int8

// The three levels of importance.
const (
	High Importance = iota
	Medium
	Low
)

// String is Kafka's name of the importance.
func (i Importance) String() string { return [...]string{"HIGH", "MEDIUM", "LOW"}[i] }

// UpdateMode is whether a broker key can be changed while the broker runs.
type UpdateMode int8

// The update modes of broker keys. Keys of other resources are always ClusterWide.
const (
	// ReadOnly needs a restart.
	ReadOnly UpdateMode = iota
	// PerBroker can be set for one broker or for all.
	PerBroker
	// ClusterWide can be set as cluster default, and for one broker for a test.
	ClusterWide
)

// String is Kafka's name of the mode.
func (m UpdateMode) String() string {
	return [...]string{"read-only", "per-broker", "cluster-wide"}[m]
}

// Resource is the type of a configured thing, numbered as in DescribeConfigs.
type Resource int8

// The resources of DescribeConfigs.
const (
	ResourceUnknown       Resource = 0
	ResourceTopic         Resource = 2
	ResourceBroker        Resource = 4
	ResourceBrokerLogger  Resource = 8
	ResourceClientMetrics Resource = 16
	ResourceGroup         Resource = 32
)

// Key is one configuration key. Values of type Key are never changed.
type Key struct {
	Name string
	Type Type
	// Default is the default as a text; meaningful only if HasDefault.
	Default string
	// HasDefault is false for a default of null and for keys that must be given.
	HasDefault bool
	// Required is set for keys without any default: node.id, process.roles, controller.listener.names.
	Required bool
	// Validator checks the parsed value; nil where any value of the type is fine.
	Validator  Validator
	Importance Importance
	UpdateMode UpdateMode
	// Internal keys work but aren't described.
	Internal bool
	// Effective is false while setting the key changes nothing in this broker; those are listed in docs.
	Effective bool
	// Synonyms are the broker keys that a topic or group key falls back on, first match first.
	Synonyms []Synonym
}

// Sensitive tells whether the value must not be shown.
func (k *Key) Sensitive() bool { return k.Type == TypePassword }

// Synonym is a broker key with the conversion of its value to the unit of the key it stands for.
type Synonym struct {
	// Name is a broker key.
	Name string
	// Factor multiplies the value (hours to milliseconds), and takes all below 0 for -1, without limit;
	// 0 takes the text as it is.
	Factor int64
}

// KeySet is all keys of one resource, sorted by name.
type KeySet struct {
	resource Resource
	keys     []Key
	byName   map[string]*Key
}

// Lookup returns the key of that name, or nil.
func (s *KeySet) Lookup(name string) *Key { return s.byName[name] }

// All returns the keys by name; the slice must not be changed.
func (s *KeySet) All() []Key { return s.keys }

// Resource is what the keys belong to.
func (s *KeySet) Resource() Resource { return s.resource }

func newKeySet(r Resource, keys []Key) *KeySet {
	s := &KeySet{resource: r, keys: keys, byName: make(map[string]*Key, len(keys))}
	for i := range keys {
		s.byName[keys[i].Name] = &keys[i]
	}
	return s
}

// The tables are built when first asked for, and never change.
var (
	brokerKeySet = sync.OnceValue(func() *KeySet {
		return newKeySet(ResourceBroker, withEffective(brokerKeyTable(), effectiveBrokerKeys()))
	})
	topicKeySet = sync.OnceValue(func() *KeySet {
		keys := withSynonyms(topicKeyTable(), topicSynonyms())
		return newKeySet(ResourceTopic, withEffective(keys, effectiveTopicKeys()))
	})
	groupKeySet = sync.OnceValue(func() *KeySet {
		keys := withSynonyms(groupKeyTable(), groupSynonyms())
		return newKeySet(ResourceGroup, withEffective(keys, effectiveGroupKeys()))
	})
	clientMetricsKeySet = sync.OnceValue(func() *KeySet {
		return newKeySet(ResourceClientMetrics, clientMetricsKeyTable())
	})
)

// BrokerKeys are the keys of server.properties.
func BrokerKeys() *KeySet { return brokerKeySet() }

// TopicKeys are the keys that a topic can override.
func TopicKeys() *KeySet { return topicKeySet() }

// GroupKeys are the keys that a group can override.
func GroupKeys() *KeySet { return groupKeySet() }

// ClientMetricsKeys are the keys of a client metrics subscription (KIP-714).
func ClientMetricsKeys() *KeySet { return clientMetricsKeySet() }

// KeysOf returns the keys of a resource, or nil for one that has no table.
func KeysOf(r Resource) *KeySet {
	switch r {
	case ResourceBroker:
		return BrokerKeys()
	case ResourceTopic:
		return TopicKeys()
	case ResourceGroup:
		return GroupKeys()
	case ResourceClientMetrics:
		return ClientMetricsKeys()
	default:
		return nil
	}
}
