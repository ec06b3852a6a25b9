package handlers

import (
	"fmt"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// How a component of a DescribeClientQuotas filter matches (KIP-546).
const (
	quotaMatchExact   = 0
	quotaMatchDefault = 1
	quotaMatchAny     = 2
)

// handleDescribeClientQuotas answers DescribeClientQuotas, versions 0 and 1. No quota can be set yet,
// so a legal filter finds none.
func handleDescribeClientQuotas(d *Deps, r *wire.Request) {
	resp := kmsg.NewPtrDescribeClientQuotasResponse()
	resp.ErrorMessage, resp.Entries = kmsg.StringPtr(""), []kmsg.DescribeClientQuotasResponseEntry{}
	if err := checkQuotaFilter(r.Body.(*kmsg.DescribeClientQuotasRequest)); err != nil {
		resp.ErrorCode, resp.ErrorMessage, resp.Entries = kerror.CodeOf(err), kerror.MessageOf(err), nil
	}
	r.Reply(resp)
}

// checkQuotaFilter refuses what Kafka refuses, in its order and words.
func checkQuotaFilter(req *kmsg.DescribeClientQuotasRequest) error {
	invalid := func(format string, args ...any) error {
		return kerror.New(kerr.InvalidRequest, "%s", fmt.Sprintf(format, args...))
	}
	for _, c := range req.Components {
		switch c.MatchType {
		case quotaMatchExact:
			if c.Match == nil {
				return invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
			}
		case quotaMatchDefault:
			if c.Match != nil {
				return invalid("Request specified MATCH_TYPE_DEFAULT, but also specified a match string.")
			}
		case quotaMatchAny:
			if c.Match != nil {
				return invalid("Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.")
			}
		default:
			return invalid("Unknown match type %d", c.MatchType)
		}
	}
	seen := make(map[string]bool, len(req.Components))
	for _, c := range req.Components {
		switch {
		case c.EntityType == "":
			return invalid("Invalid empty entity type.")
		case seen[c.EntityType]:
			return invalid("Entity type %s cannot appear more than once in the filter.", c.EntityType)
		case c.EntityType != "user" && c.EntityType != "client-id" && c.EntityType != "ip":
			return kerror.New(kerr.UnsupportedVersion, "Unsupported entity type %s", c.EntityType)
		}
		seen[c.EntityType] = true
	}
	if seen["ip"] && (seen["user"] || seen["client-id"]) {
		return invalid("Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component.")
	}
	return nil
}
