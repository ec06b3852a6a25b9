package handlers

import (
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteGroups, versions 0 to 3: groups without members, with their offsets (KIP-229).
func handleDeleteGroups(d *Deps, r *wire.Request) {
	toGroups(d, r, r.Body, same[*kmsg.DeleteGroupsResponse])
}
