package handlers

import (
	"fmt"

	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleDescribeACLs answers DescribeAcls, versions 1 to 3, as Kafka does without an authorizer.
// Kafka closes the connection on a filter with a type it doesn't know, and so does this.
func handleDescribeACLs(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.DescribeACLsRequest)
	if req.ResourceType.String() == "UNKNOWN" || req.ResourcePatternType.String() == "UNKNOWN" && r.Version > 0 ||
		req.Operation.String() == "UNKNOWN" || req.PermissionType.String() == "UNKNOWN" {
		r.Close(fmt.Errorf("DescribeAcls with a filter of unknown type"))
		return
	}
	resp := kmsg.NewPtrDescribeACLsResponse()
	resp.ErrorCode, resp.ErrorMessage = kerr.SecurityDisabled.Code, kmsg.StringPtr("No Authorizer is configured on the broker")
	r.Reply(resp)
}
