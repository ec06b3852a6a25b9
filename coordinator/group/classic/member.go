package classic

import (
	"bytes"
	"time"

	"github.com/ottla/ottla/coordinator/machine"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Member is one member of a classic group.
type Member struct {
	// Durable.

	ID                               string
	InstanceID                       *string
	ClientID, ClientHost             string
	RebalanceTimeout, SessionTimeout time.Duration
	ProtocolType                     string
	Protocols                        []Protocol // by preference; after a load only the selected one
	Assignment                       []byte

	// Not in the log.

	// isNew holds until the first rebalance that the member takes part in is done; such a member is not
	// kept alive by its parked JoinGroup.
	isNew bool
	// join and sync are the parked requests of the member, 0 if there are none.
	join, sync machine.Call
}

// Protocol is an assignment strategy that a member supports, with what its leader has to know.
type Protocol struct {
	Name     string
	Metadata []byte
}

// isStatic tells whether the member keeps its place across restarts (KIP-345).
func (m *Member) isStatic() bool { return m.InstanceID != nil }

// hasSatisfiedHeartbeat tells whether an expired session is excused: the coordinator itself is
// keeping the member waiting.
func (m *Member) hasSatisfiedHeartbeat() bool { return !m.isNew && (m.join != 0 || m.sync != 0) }

// metadata is what the member says for a protocol, empty if it doesn't support it.
func (m *Member) metadata(protocol string) []byte {
	for _, p := range m.Protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return []byte{}
}

// matches tells whether a JoinGroup brings the protocols that the member has, in the same order.
func (m *Member) matches(protocols []kmsg.JoinGroupRequestProtocol) bool {
	if len(protocols) != len(m.Protocols) {
		return false
	}
	for i, p := range protocols {
		if p.Name != m.Protocols[i].Name || !bytes.Equal(p.Metadata, m.Protocols[i].Metadata) {
			return false
		}
	}
	return true
}

func (m *Member) supports(protocol string) bool {
	for _, p := range m.Protocols {
		if p.Name == protocol {
			return true
		}
	}
	return false
}

// copyProtocols copies the protocols of a request, whose bytes are borrowed.
func copyProtocols(protocols []kmsg.JoinGroupRequestProtocol) []Protocol {
	list := make([]Protocol, len(protocols))
	for i, p := range protocols {
		list[i] = Protocol{p.Name, append([]byte{}, p.Metadata...)}
	}
	return list
}

func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }
