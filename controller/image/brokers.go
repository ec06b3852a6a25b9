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

// HasOnlineDir tells whether a replica in a directory can be used: the broker has the directory, or it
// isn't known yet in which one the replica is.
func (b *Broker) HasOnlineDir(dir ID) bool {
	switch dir {
	case UnassignedDir, MigratingDir:
		return true
	case LostDir:
		return false
	}
	// A broker that names no directories is one from before they were named.
	return len(b.LogDirs) == 0 || slices.Contains(b.LogDirs, dir)
}

// HasUncordonedDir tells whether the broker takes new replicas (KIP-1066).
func (b *Broker) HasUncordonedDir() bool {
	return len(b.CordonedLogDirs) == 0 ||
		slices.ContainsFunc(b.LogDirs, func(d ID) bool { return !slices.Contains(b.CordonedLogDirs, d) })
}

// DefaultDir is the directory that a new replica on the broker goes to as far as the controller can
// tell: the only one, or UnassignedDir until the broker says.
func (b *Broker) DefaultDir() ID {
	if len(b.LogDirs) == 1 {
		return b.LogDirs[0]
	}
	return UnassignedDir
}

// Feature is the range of levels that the broker supports; 0 to 0 for a feature it doesn't know.
func (b *Broker) Feature(name string) FeatureRange { return findFeature(b.Features, name) }

func findFeature(list []FeatureRange, name string) FeatureRange {
	for _, f := range list {
		if f.Name == name {
			return f
		}
	}
	return FeatureRange{Name: name}
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

// Feature is the range of levels that the controller supports; 0 to 0 for a feature it doesn't know.
func (c *Controller) Feature(name string) FeatureRange { return findFeature(c.Features, name) }

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
