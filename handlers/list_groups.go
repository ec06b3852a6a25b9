package handlers

import (
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListGroups, versions 0 to 5: the groups that this broker coordinates.
//
//	4  filter by state (KIP-518)
//	5  filter by type (KIP-848)
func handleListGroups(d *Deps, r *wire.Request) {
	toGroups(d, r, r.Body, same[*kmsg.ListGroupsResponse])
}
