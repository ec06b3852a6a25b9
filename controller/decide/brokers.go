package decide

import (
	"slices"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// registerBroker registers a broker, fenced until its first heartbeat shows that it has the image.
// The same incarnation may ask again and is told its epoch. What the former incarnation led is
// without a leader until then, so that a tail that was lost starts a new leader epoch.
func registerBroker(env *Env, req *kmsg.BrokerRegistrationRequest) Decision {
	resp := req.ResponseKind().(*kmsg.BrokerRegistrationResponse)
	resp.BrokerEpoch = -1
	if req.ClusterID != env.Image.ClusterID() {
		resp.ErrorCode = kerr.InconsistentClusterID.Code
		return Decision{Response: resp}
	}
	var records []metadata.Record
	if old := env.Image.Broker(req.BrokerID); old != nil {
		if old.IncarnationID == req.IncarnationID {
			resp.BrokerEpoch = old.Epoch
			return Decision{Response: resp}
		}
		records = withoutBroker(env.Image, req.BrokerID)
	}
	// The epoch is the offset of the registration's record.
	epoch := env.Image.Offset() + 1 + int64(len(records))
	r := &metadata.RegisterBrokerRecord{
		BrokerID: req.BrokerID, IncarnationID: req.IncarnationID, BrokerEpoch: epoch, Rack: req.Rack, Fenced: true, LogDirs: slices.Clone(req.LogDirs),
	}
	for _, l := range req.Listeners {
		r.EndPoints = append(r.EndPoints, metadata.RegisterBrokerRecordBrokerEndpoint{Name: l.Name, Host: l.Host, Port: l.Port, SecurityProtocol: l.SecurityProtocol})
	}
	for _, f := range req.Features {
		r.Features = append(r.Features, metadata.RegisterBrokerRecordBrokerFeature{Name: f.Name, MinSupportedVersion: f.MinSupportedVersion, MaxSupportedVersion: f.MaxSupportedVersion})
	}
	resp.BrokerEpoch = epoch
	return Decision{Records: append(records, r), Response: resp}
}

// withoutBroker are the changes for a broker that leads nothing any more: another replica in sync
// takes over, or nobody. The last member of an ISR stays in it.
func withoutBroker(m *image.Image, id int32) []metadata.Record {
	var records []metadata.Record
	for t := range m.Topics() {
		for i, p := range t.Partitions() {
			if !slices.Contains(p.ISR, id) {
				continue
			}
			if p.Leader == id || len(p.ISR) > 1 {
				c := partitionChange(t.ID, i)
				withoutLeader(m, p, id, c)
				records = append(records, c)
			}
		}
	}
	return records
}

func without(list []int32, id int32) []int32 {
	return slices.DeleteFunc(slices.Clone(list), func(x int32) bool { return x == id })
}

// heartbeat answers a broker and decides on what follows from it: unfencing once it has the image up
// to its own registration, fencing, and controlled shutdown. Heartbeats themselves aren't recorded.
func heartbeat(env *Env, req *kmsg.BrokerHeartbeatRequest) Decision {
	resp := req.ResponseKind().(*kmsg.BrokerHeartbeatResponse)
	b := env.Image.Broker(req.BrokerID)
	if b == nil || b.Epoch != req.BrokerEpoch {
		resp.ErrorCode = kerr.StaleBrokerEpoch.Code
		return Decision{Response: resp}
	}
	resp.IsCaughtUp = req.CurrentMetadataOffset >= b.Epoch
	resp.IsFenced, resp.ShouldShutdown = b.Fenced, false
	change := &metadata.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch}
	var records []metadata.Record
	if len(req.OfflineLogDirs) > 0 && !req.WantShutdown && !req.WantFence && !b.Fenced {
		// What is offline at the registration isn't in it; this is of a broker that runs.
		return Decision{Records: directoriesOffline(env.Image, b, req.OfflineLogDirs), Response: resp}
	}
	switch {
	case req.WantShutdown:
		resp.ShouldShutdown, resp.IsFenced = true, true
		if b.Fenced && b.InControlledShutdown {
			return Decision{Response: resp}
		}
		change.Fenced, change.InControlledShutdown = 1, 1
		records = withoutBroker(env.Image, b.ID)
	case req.WantFence && !b.Fenced:
		resp.IsFenced = true
		change.Fenced = 1
		records = withoutBroker(env.Image, b.ID)
	case !req.WantFence && b.Fenced && !b.InControlledShutdown && resp.IsCaughtUp:
		resp.IsFenced = false
		change.Fenced = -1
		return Decision{Records: append([]metadata.Record{change}, leadAgain(env.Image, b.ID)...), Response: resp}
	default:
		return Decision{Response: resp}
	}
	return Decision{Records: append(records, change), Response: resp}
}

// leadAgain gives the partitions that have no leader to a broker that was unfenced, where it is in
// sync.
func leadAgain(m *image.Image, id int32) []metadata.Record {
	var records []metadata.Record
	for t := range m.Topics() {
		for i, p := range t.Partitions() {
			if p.Leader == image.NoLeader && slices.Contains(p.ISR, id) && m.ReplicaOnline(p, id) {
				records = append(records, leaderChange(t.ID, i, id))
			}
		}
	}
	return records
}

// unregisterBroker removes a broker's registration.
func unregisterBroker(env *Env, req *kmsg.UnregisterBrokerRequest) Decision {
	resp := req.ResponseKind().(*kmsg.UnregisterBrokerResponse)
	b := env.Image.Broker(req.BrokerID)
	if b == nil {
		resp.ErrorCode, resp.ErrorMessage = codeAndMessage(kerror.New(kerr.BrokerIDNotRegistered, "Broker ID %d is not currently registered", req.BrokerID))
		return Decision{Response: resp}
	}
	records := withoutBroker(env.Image, b.ID)
	return Decision{Records: append(records, &metadata.UnregisterBrokerRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch}), Response: resp}
}
