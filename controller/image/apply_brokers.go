package image

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/record/metadata"
)

func (b *builder) applyRegisterBroker(r *metadata.RegisterBrokerRecord) error {
	// The same incarnation may change its registration and keeps its epoch.
	if old := b.next.Broker(r.BrokerID); old != nil &&
		(r.BrokerEpoch < old.Epoch || r.BrokerEpoch == old.Epoch && r.IncarnationID != old.IncarnationID) {
		return fmt.Errorf("broker epoch %d isn't above %d", r.BrokerEpoch, old.Epoch)
	}
	x := &Broker{
		ID: r.BrokerID, Epoch: r.BrokerEpoch, IncarnationID: r.IncarnationID, Rack: r.Rack,
		Fenced: r.Fenced, InControlledShutdown: r.InControlledShutdown,
	}
	if len(r.LogDirs) > 0 {
		x.LogDirs = r.LogDirs
	}
	if len(r.CordonedLogDirs) > 0 {
		x.CordonedLogDirs = r.CordonedLogDirs
	}
	for _, e := range r.EndPoints {
		x.Listeners = append(x.Listeners, Endpoint{Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol})
	}
	for _, f := range r.Features {
		x.Features = append(x.Features, FeatureRange{Name: f.Name, Min: f.MinSupportedVersion, Max: f.MaxSupportedVersion})
	}
	sortEndpoints(x.Listeners)
	sortFeatures(x.Features)
	b.next.brokers = withByID(b.next.brokers, x, brokerID)
	b.brokers[x.ID] = struct{}{}
	return nil
}

func (b *builder) applyUnregisterBroker(r *metadata.UnregisterBrokerRecord) error {
	if err := b.editBroker(r.BrokerID, r.BrokerEpoch, func(*Broker) {}); err != nil {
		return err
	}
	b.next.brokers = withoutByID(b.next.brokers, r.BrokerID, brokerID)
	return nil
}

// Values of the fields of a broker registration change; 0 leaves things alone.
const (
	registrationFence    int8 = 1
	registrationUnfence  int8 = -1
	registrationShutdown int8 = 1
)

func (b *builder) applyBrokerChange(r *metadata.BrokerRegistrationChangeRecord) error {
	if r.Fenced < registrationUnfence || r.Fenced > registrationFence || r.InControlledShutdown < 0 || r.InControlledShutdown > registrationShutdown {
		return errors.New("unknown kind of change")
	}
	return b.editBroker(r.BrokerID, r.BrokerEpoch, func(x *Broker) {
		switch r.Fenced {
		case registrationFence:
			x.Fenced = true
		case registrationUnfence:
			x.Fenced = false
		}
		if r.InControlledShutdown == registrationShutdown {
			x.InControlledShutdown = true
		}
		if len(r.LogDirs) > 0 {
			x.LogDirs = r.LogDirs
		}
		if len(r.CordonedLogDirs) > 0 {
			x.CordonedLogDirs = r.CordonedLogDirs
		} else if r.CordonedLogDirs != nil {
			x.CordonedLogDirs = nil
		}
	})
}

// editBroker changes a copy of a registration that must exist and have the epoch.
func (b *builder) editBroker(id int32, epoch int64, change func(*Broker)) error {
	old := b.next.Broker(id)
	if old == nil {
		return fmt.Errorf("broker %d isn't registered", id)
	}
	if old.Epoch != epoch {
		return fmt.Errorf("broker %d has epoch %d, not %d", id, old.Epoch, epoch)
	}
	x := *old
	change(&x)
	b.next.brokers = withByID(b.next.brokers, &x, brokerID)
	b.brokers[id] = struct{}{}
	return nil
}

func (b *builder) applyRegisterController(r *metadata.RegisterControllerRecord) error {
	x := &Controller{ID: r.ControllerID, IncarnationID: r.IncarnationID}
	for _, e := range r.EndPoints {
		x.Listeners = append(x.Listeners, Endpoint{Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol})
	}
	for _, f := range r.Features {
		x.Features = append(x.Features, FeatureRange{Name: f.Name, Min: f.MinSupportedVersion, Max: f.MaxSupportedVersion})
	}
	sortEndpoints(x.Listeners)
	sortFeatures(x.Features)
	b.next.controllers = withByID(b.next.controllers, x, controllerID)
	return nil
}

func (b *builder) applyUnregisterController(r *metadata.UnregisterControllerRecord) error {
	if _, ok := findByID(b.next.controllers, r.ControllerID, controllerID); !ok {
		return fmt.Errorf("controller %d isn't registered", r.ControllerID)
	}
	b.next.controllers = withoutByID(b.next.controllers, r.ControllerID, controllerID)
	return nil
}

func sortEndpoints(list []Endpoint) {
	slices.SortStableFunc(list, func(a, b Endpoint) int { return strings.Compare(a.Name, b.Name) })
}

func sortFeatures(list []FeatureRange) {
	slices.SortStableFunc(list, func(a, b FeatureRange) int { return strings.Compare(a.Name, b.Name) })
}
