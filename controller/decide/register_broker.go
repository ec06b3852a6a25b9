package decide

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// noFormerEpoch is what a broker that isn't registered would have to send as its previous epoch to be
// taken for one that stopped cleanly.
const noFormerEpoch = -2

// registerBroker registers a broker, fenced until its first heartbeat shows that it has the image
// (KIP-631). It decides as ClusterControlManager.registerBroker does. The same incarnation may ask
// again, keeps its epoch, and may bring other listeners. What the former incarnation led or had in sync
// it lost; after an unclean stop, which a broker's previous epoch tells (KIP-966), or when the directory
// is gone, it isn't eligible either.
func registerBroker(env *Env, req *kmsg.BrokerRegistrationRequest) Decision {
	resp := req.ResponseKind().(*kmsg.BrokerRegistrationResponse)
	resp.BrokerEpoch = -1
	if err := checkRegistration(env, req); err != nil {
		resp.ErrorCode = kerror.CodeOf(err)
		return Decision{Response: resp}
	}
	r := registrationRecord(env, req)
	old := env.Image.Broker(req.BrokerID)
	if old != nil && old.IncarnationID == req.IncarnationID {
		r.BrokerEpoch, r.Fenced, r.InControlledShutdown = old.Epoch, old.Fenced, old.InControlledShutdown
		r.CordonedLogDirs = old.CordonedLogDirs
		resp.BrokerEpoch = old.Epoch
		if next, _, err := env.Image.Apply(0, []metadata.Record{r}); err == nil && reflect.DeepEqual(next.Broker(req.BrokerID), old) {
			return Decision{Response: resp}
		}
		return Decision{Records: []metadata.Record{r}, Response: resp}
	}
	formerEpoch := int64(noFormerEpoch)
	if old != nil {
		formerEpoch = old.Epoch
	}
	stoppedCleanly := req.Version >= 3 && req.PreviousBrokerEpoch == formerEpoch
	records := loseReplicas(newTopicRules(env, env.Image), req.BrokerID, func(dir image.ID) bool {
		return !stoppedCleanly || !(&image.Broker{LogDirs: req.LogDirs}).HasOnlineDir(dir)
	})
	// The epoch is the offset of the registration's record.
	r.BrokerEpoch = env.Image.Offset() + 1 + int64(len(records))
	resp.BrokerEpoch = r.BrokerEpoch
	return Decision{Records: append(records, r), Response: resp, Divisible: true}
}

// checkRegistration tells why a broker can't be registered. The order is the oracle's.
func checkRegistration(env *Env, req *kmsg.BrokerRegistrationRequest) error {
	if req.ClusterID != env.Image.ClusterID() {
		return kerror.New(kerr.InconsistentClusterID, "Expected cluster ID %s, but got cluster ID %s", env.Image.ClusterID(), req.ClusterID)
	}
	if isDuplicate(env, req) {
		return kerror.New(kerr.DuplicateBrokerRegistration, "Another broker is registered with that broker id. If the broker was recently restarted "+
			"this should self-resolve once the heartbeat manager expires the broker's session.")
	}
	if req.IsMigratingZkBroker {
		return kerror.New(kerr.BrokerIDNotRegistered, "Controller does not support registering ZK brokers.")
	}
	if err := checkLogDirs(env.Image, req); err != nil {
		return err
	}
	return checkFeatures(env.Image, req)
}

// isDuplicate tells whether another process with the broker's id is alive, as far as is known. The
// deciding process itself knows that its own former life is over.
func isDuplicate(env *Env, req *kmsg.BrokerRegistrationRequest) bool {
	old := env.Image.Broker(req.BrokerID)
	if old == nil || old.IncarnationID == req.IncarnationID || env.Live == nil {
		return false
	}
	if req.IncarnationID == env.Incarnation && env.Incarnation != (image.ID{}) {
		return false
	}
	return env.Live.inSession(old.ID, old.Epoch, env.Now)
}

func checkLogDirs(m *image.Image, req *kmsg.BrokerRegistrationRequest) error {
	invalid := func(format string, args ...any) error { return kerror.New(kerr.InvalidRegistration, format, args...) }
	if len(req.LogDirs) == 0 {
		return invalid("No directories specified in request")
	}
	if slices.ContainsFunc(req.LogDirs, isReservedDir) {
		return invalid("Reserved directory ID in request")
	}
	for i, d := range req.LogDirs {
		if slices.Contains(req.LogDirs[:i], d) {
			return invalid("Duplicate directory ID in request")
		}
	}
	for _, d := range req.LogDirs {
		for _, b := range m.Brokers() {
			if b.ID != req.BrokerID && slices.Contains(b.LogDirs, d) {
				return invalid("Broker %d is already registered with directory %x", b.ID, d)
			}
		}
	}
	return nil
}

// isReservedDir tells whether a directory id is one of the first hundred, which Kafka keeps for itself.
func isReservedDir(d image.ID) bool {
	return binary.BigEndian.Uint64(d[:8]) == 0 && binary.BigEndian.Uint64(d[8:]) < 100
}

// checkFeatures refuses a broker that lacks a feature level in force.
func checkFeatures(m *image.Image, req *kmsg.BrokerRegistrationRequest) error {
	sent := map[string]bool{}
	for _, f := range req.Features {
		sent[f.Name] = true
		if err := checkFeature(m, image.FeatureRange{Name: f.Name, Min: f.MinSupportedVersion, Max: f.MaxSupportedVersion}); err != nil {
			return err
		}
	}
	if !sent[image.MetadataVersion] {
		return kerror.New(kerr.InvalidRegistration, "Request features do not contain 'metadata.version'")
	}
	for _, f := range m.Features() {
		if !sent[f.Name] {
			if err := checkFeature(m, image.FeatureRange{Name: f.Name}); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkFeature(m *image.Image, f image.FeatureRange) error {
	if level := m.EffectiveFeatureLevel(f.Name); level < f.Min || level > f.Max {
		return kerror.New(kerr.UnsupportedVersion, "Unable to register because the broker does not support finalized version %d of %s. "+
			"The broker wants a version between %d and %d, inclusive.", level, f.Name, f.Min, f.Max)
	}
	return nil
}

// registrationRecord is the record of a broker, without its epoch.
func registrationRecord(env *Env, req *kmsg.BrokerRegistrationRequest) *metadata.RegisterBrokerRecord {
	r := &metadata.RegisterBrokerRecord{
		BrokerID: req.BrokerID, IncarnationID: req.IncarnationID, Rack: req.Rack, Fenced: true, LogDirs: slices.Clone(req.LogDirs),
	}
	for _, l := range req.Listeners {
		r.EndPoints = append(r.EndPoints, metadata.RegisterBrokerRecordBrokerEndpoint{Name: l.Name, Host: l.Host, Port: l.Port, SecurityProtocol: l.SecurityProtocol})
	}
	for _, f := range req.Features {
		r.Features = append(r.Features, metadata.RegisterBrokerRecordBrokerFeature{Name: f.Name, MinSupportedVersion: f.MinSupportedVersion, MaxSupportedVersion: f.MaxSupportedVersion})
	}
	for _, f := range env.Image.Features() {
		if !slices.ContainsFunc(req.Features, func(x kmsg.BrokerRegistrationRequestFeature) bool { return x.Name == f.Name }) {
			r.Features = append(r.Features, metadata.RegisterBrokerRecordBrokerFeature{Name: f.Name})
		}
	}
	slices.SortStableFunc(r.Features, func(a, b metadata.RegisterBrokerRecordBrokerFeature) int { return strings.Compare(a.Name, b.Name) })
	return r
}
