package decide

import (
	"slices"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// registerController notes where a controller is reached (KIP-919). A registration that changes nothing
// leaves no record.
func registerController(env *Env, req *kmsg.ControllerRegistrationRequest) Decision {
	resp := req.ResponseKind().(*kmsg.ControllerRegistrationResponse)
	if req.ControllerID < 0 {
		resp.ErrorCode, resp.ErrorMessage = codeAndMessage(kerror.New(kerr.InvalidRequest, "Invalid controller id %d", req.ControllerID))
		return Decision{Response: resp}
	}
	r := &metadata.RegisterControllerRecord{ControllerID: req.ControllerID, IncarnationID: req.IncarnationID, ZkMigrationReady: req.ZkMigrationReady}
	for _, l := range req.Listeners {
		r.EndPoints = append(r.EndPoints, metadata.RegisterControllerRecordControllerEndpoint{Name: l.Name, Host: l.Host, Port: l.Port, SecurityProtocol: l.SecurityProtocol})
	}
	for _, f := range req.Features {
		r.Features = append(r.Features, metadata.RegisterControllerRecordControllerFeature{Name: f.Name, MinSupportedVersion: f.MinSupportedVersion, MaxSupportedVersion: f.MaxSupportedVersion})
	}
	if old := env.Image.Controller(req.ControllerID); old != nil && old.IncarnationID == req.IncarnationID && sameEndpoints(old.Listeners, r.EndPoints) {
		return Decision{Response: resp}
	}
	return Decision{Records: []metadata.Record{r}, Response: resp}
}

func sameEndpoints(have []image.Endpoint, want []metadata.RegisterControllerRecordControllerEndpoint) bool {
	if len(have) != len(want) {
		return false
	}
	for _, w := range want {
		if !slices.Contains(have, image.Endpoint(w)) {
			return false
		}
	}
	return true
}
