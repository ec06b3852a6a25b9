package image

import (
	"cmp"
	"slices"
)

// Endpoint is where a listener of a broker or controller is reached.
type Endpoint struct {
	// Name is the listener's name, such as PLAINTEXT.
	Name string
	Host string
	Port uint16
	// SecurityProtocol is Kafka's number: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
	SecurityProtocol int16
}

// FeatureRange is the range of levels of a feature that a node supports.
type FeatureRange struct {
	Name     string
	Min, Max int16
}

// Broker is the registration of a broker. Slices are borrowed: not to be changed.
type Broker struct {
	ID int32
	// Epoch is the offset of the record that registered the broker; it grows with every registration.
	Epoch int64
	// IncarnationID is new with every start of the broker's process.
	IncarnationID ID
	// Rack is nil if the broker has none.
	Rack *string
	// Listeners are sorted by name.
	Listeners []Endpoint
	// Features are sorted by name.
	Features []FeatureRange
	// Fenced brokers lead nothing and aren't shown to clients.
	Fenced bool
	// InControlledShutdown brokers lead nothing new.
	InControlledShutdown bool
	// LogDirs are the ids of the broker's online log directories, CordonedLogDirs those of them
	// that take no new replicas.
	LogDirs, CordonedLogDirs []ID
}

// Listener returns the broker's endpoint for a listener name.
func (b *Broker) Listener(name string) (Endpoint, bool) {
	for _, e := range b.Listeners {
		if e.Name == name {
			return e, true
		}
	}
	return Endpoint{}, false
}

// Controller is the registration of a controller. Slices are borrowed: not to be changed.
type Controller struct {
	ID            int32
	IncarnationID ID
	// Listeners are sorted by name.
	Listeners []Endpoint
	// Features are sorted by name.
	Features []FeatureRange
}

func brokerID(b *Broker) int32         { return b.ID }
func controllerID(c *Controller) int32 { return c.ID }

func findByID[T any](list []T, id int32, idOf func(T) int32) (int, bool) {
	return slices.BinarySearchFunc(list, id, func(x T, id int32) int { return cmp.Compare(idOf(x), id) })
}

// withByID returns a copy of a list sorted by id in which x stands at its place.
func withByID[T any](list []T, x T, idOf func(T) int32) []T {
	i, ok := findByID(list, idOf(x), idOf)
	if ok {
		list = slices.Clone(list)
		list[i] = x
		return list
	}
	out := make([]T, 0, len(list)+1)
	out = append(out, list[:i]...)
	out = append(out, x)
	return append(out, list[i:]...)
}

// withoutByID returns a copy of a list sorted by id that lacks the entry with that id.
func withoutByID[T any](list []T, id int32, idOf func(T) int32) []T {
	i, ok := findByID(list, id, idOf)
	if !ok {
		return list
	}
	out := make([]T, 0, len(list)-1)
	out = append(out, list[:i]...)
	return append(out, list[i+1:]...)
}
