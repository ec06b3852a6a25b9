package handlers

import (
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleDescribeUserSCRAMCredentials answers DescribeUserScramCredentials, version 0 (KIP-554). No
// credential can be made yet, so no user has one.
func handleDescribeUserSCRAMCredentials(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.DescribeUserSCRAMCredentialsRequest)
	resp := kmsg.NewPtrDescribeUserSCRAMCredentialsResponse()
	resp.ErrorMessage = kmsg.StringPtr("")
	times := make(map[string]int, len(req.Users))
	for _, u := range req.Users {
		times[u.Name]++
	}
	for _, u := range req.Users {
		if times[u.Name] == 0 {
			continue
		}
		out := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
		out.User = u.Name
		if times[u.Name] > 1 {
			out.ErrorCode = kerr.DuplicateResource.Code
			out.ErrorMessage = kmsg.StringPtr("Cannot describe SCRAM credentials for the same user twice in a single request: " + u.Name)
		} else {
			out.ErrorCode = kerr.ResourceNotFound.Code
			out.ErrorMessage = kmsg.StringPtr("Attempt to describe a user credential that does not exist: " + u.Name)
		}
		times[u.Name] = 0
		resp.Results = append(resp.Results, out)
	}
	r.Reply(resp)
}
