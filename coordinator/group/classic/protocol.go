package classic

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// supportsProtocols tells whether a newcomer fits: an empty group takes anyone that names a type
// and a protocol, others want their own type and a protocol that all members support.
func (g *Group) supportsProtocols(protocolType string, protocols []kmsg.JoinGroupRequestProtocol) bool {
	if g.state == Empty {
		return protocolType != "" && len(protocols) > 0
	}
	if g.protocolType == nil || *g.protocolType != protocolType {
		return false
	}
	for _, p := range protocols {
		if g.allSupport(p.Name) {
			return true
		}
	}
	return false
}

func (g *Group) allSupport(protocol string) bool {
	for _, m := range g.members {
		if !m.supports(protocol) {
			return false
		}
	}
	return true
}

// selectProtocol lets each of members vote for the first of its protocols that all support; most
// votes win, and among equals the one that was voted for first. Kafka leaves equals to the order of
// a hash map.
func selectProtocol(members []*Member) string {
	support := map[string]int{}
	for _, m := range members {
		for i, p := range m.Protocols {
			if !named(m.Protocols[:i], p.Name) {
				support[p.Name]++
			}
		}
	}
	votes := map[string]int{}
	var order []string
	for _, m := range members {
		for _, p := range m.Protocols {
			if support[p.Name] == len(members) {
				if votes[p.Name] == 0 {
					order = append(order, p.Name)
				}
				votes[p.Name]++
				break
			}
		}
	}
	best := ""
	for _, p := range order {
		if best == "" || votes[p] > votes[best] {
			best = p
		}
	}
	return best
}

func named(protocols []Protocol, name string) bool {
	for _, p := range protocols {
		if p.Name == name {
			return true
		}
	}
	return false
}

// usesConsumerProtocol tells whether the members are consumers.
func (g *Group) usesConsumerProtocol() bool {
	return g.protocolType != nil && *g.protocolType == ConsumerProtocolType
}

// subscriptions computes the topics of all members; nil if they can't be known.
func (g *Group) subscriptions() map[string]struct{} {
	if !g.usesConsumerProtocol() {
		return nil
	}
	topics := map[string]struct{}{}
	if len(g.members) == 0 {
		return topics
	}
	if g.protocol == nil {
		return nil
	}
	for _, m := range g.members {
		if !addSubscription(topics, m.metadata(*g.protocol)) {
			return nil
		}
	}
	return topics
}

// addSubscription adds the topics of a consumer's subscription (ConsumerProtocolSubscription,
// any version: int16 version, array of topics, more). False if it can't be read.
func addSubscription(topics map[string]struct{}, b []byte) bool {
	if len(b) < 6 {
		return false
	}
	n := int32(binary.BigEndian.Uint32(b[2:]))
	b = b[6:]
	for ; n > 0; n-- {
		if len(b) < 2 {
			return false
		}
		size := int(int16(binary.BigEndian.Uint16(b)))
		if size < 0 || size > len(b)-2 {
			return false
		}
		topics[string(b[2:2+size])] = struct{}{}
		b = b[2+size:]
	}
	return true
}

// IsSubscribedTo tells whether a member consumes topic; when the subscriptions can't be read, a
// group of consumers counts as subscribed to everything.
func (g *Group) IsSubscribedTo(topic string) bool {
	if g.subscribed == nil {
		return g.usesConsumerProtocol()
	}
	_, ok := g.subscribed[topic]
	return ok
}
