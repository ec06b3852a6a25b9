package handlers

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleUpdateFeatures answers UpdateFeatures, versions 0 to 2: upgrade types and validation since 1
// (KIP-778), one answer for all features since 2. The controller decides.
func handleUpdateFeatures(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.UpdateFeaturesRequest)
	d.forward(r, req.TimeoutMillis, func(err error) kmsg.Response {
		resp := kmsg.NewPtrUpdateFeaturesResponse()
		resp.ErrorCode, resp.ErrorMessage = kerror.CodeOf(err), kerror.MessageOf(err)
		return resp
	})
}
