package decide

import (
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// registerController notes where a controller is reached and what it supports (KIP-919).
func registerController(_ *Env, req *kmsg.ControllerRegistrationRequest) Decision {
	resp := req.ResponseKind().(*kmsg.ControllerRegistrationResponse)
	r := &metadata.RegisterControllerRecord{ControllerID: req.ControllerID, IncarnationID: req.IncarnationID}
	for _, l := range req.Listeners {
		r.EndPoints = append(r.EndPoints, metadata.RegisterControllerRecordControllerEndpoint{Name: l.Name, Host: l.Host, Port: l.Port, SecurityProtocol: l.SecurityProtocol})
	}
	for _, f := range req.Features {
		r.Features = append(r.Features, metadata.RegisterControllerRecordControllerFeature{Name: f.Name, MinSupportedVersion: f.MinSupportedVersion, MaxSupportedVersion: f.MaxSupportedVersion})
	}
	return Decision{Records: []metadata.Record{r}, Response: resp}
}
