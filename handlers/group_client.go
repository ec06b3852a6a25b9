package handlers

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// toGroups hands a request to the group coordinator and completes it with what shape makes of the
// response, whenever that comes. If the connection dies meanwhile the group goes on without it, as
// in Kafka: the member's session decides, and completing the request is harmless.
func toGroups[T kmsg.Response](d *Deps, r *wire.Request, req kmsg.Request, shape func(T) kmsg.Response) {
	clientID := ""
	if r.ClientID != nil {
		clientID = *r.ClientID
	}
	d.Groups.Handle(clientID, javaAddress(r.Session.ClientAddr.Addr()), req, func(resp kmsg.Response) {
		r.Reply(shape(resp.(T)))
	})
}

// same is the shape of a response that goes out as it is.
func same[T kmsg.Response](resp T) kmsg.Response { return resp }

// javaAddress writes an address as Java's InetAddress.toString does without a host name:
// "/127.0.0.1", and IPv6 with all of its eight groups.
func javaAddress(a netip.Addr) string {
	a = a.Unmap()
	if !a.Is6() {
		return "/" + a.String()
	}
	b := a.As16()
	groups := make([]string, 0, 8)
	for i := 0; i < 16; i += 2 {
		groups = append(groups, fmt.Sprintf("%x", uint16(b[i])<<8|uint16(b[i+1])))
	}
	s := "/" + strings.Join(groups, ":")
	if zone := a.Zone(); zone != "" {
		s += "%" + zone
	}
	return s
}

// Operations on a group, as a bit field of AclOperation codes: READ, DELETE, DESCRIBE,
// DESCRIBE_CONFIGS and ALTER_CONFIGS. It is what everybody may do where nothing is denied.
const allGroupOperations = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11
