package dump

import (
	"bytes"
	"encoding/base64"
	"strconv"

	"github.com/ottla/ottla/internal/record/offsets"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxConsumerProtocolVersion is the newest version of the consumer protocol's messages.
const maxConsumerProtocolVersion = 3

// groupJSON renders a classic group of consumers, whose members' subscriptions and assignments are
// messages of the consumer protocol: they are rendered too, unless they can't be read.
func groupJSON(dst []byte, g *offsets.GroupMetadataValue, version int16) []byte {
	plain := g.AppendJSON(nil, version)
	// A member's two fields are its last, so that each can be replaced where it stands, in order.
	for i := range g.Members {
		m := &g.Members[i]
		plain = replaceNext(&dst, plain, "subscription", m.Subscription, subscriptionJSON)
		plain = replaceNext(&dst, plain, "assignment", m.Assignment, assignmentJSON)
	}
	return append(dst, plain...)
}

// replaceNext moves the beginning of src to dst, up to and with the next field of a name, whose bytes
// are rendered; it returns the rest.
func replaceNext(dst *[]byte, src []byte, name string, content []byte, render func([]byte) ([]byte, bool)) []byte {
	old := `"` + base64.StdEncoding.EncodeToString(content) + `"`
	field := `"` + name + `":`
	at := bytes.Index(src, []byte(field+old))
	text, ok := render(content)
	if at < 0 || !ok {
		return src
	}
	*dst = append(append(*dst, src[:at+len(field)]...), text...)
	return src[at+len(field)+len(old):]
}

func subscriptionJSON(b []byte) ([]byte, bool) {
	var s kmsg.ConsumerMemberMetadata
	if s.ReadFrom(b) != nil || s.Version < 0 || s.Version > maxConsumerProtocolVersion {
		return nil, false
	}
	out := append(appendStrings([]byte(`{"topics":`), s.Topics), `,"userData":`...)
	out = appendNullableBytes(out, s.UserData)
	if s.Version >= 1 {
		out = append(out, `,"ownedPartitions":[`...)
		for i, t := range s.OwnedPartitions {
			out = appendTopic(out, i, t.Topic, t.Partitions)
		}
		out = append(out, ']')
	}
	if s.Version >= 2 {
		out = strconv.AppendInt(append(out, `,"generationId":`...), int64(s.Generation), 10)
	}
	if s.Version >= 3 {
		out = append(out, `,"rackId":`...)
		if s.Rack == nil {
			out = append(out, `null`...)
		} else {
			out = appendString(out, *s.Rack)
		}
	}
	return append(out, '}'), true
}

func assignmentJSON(b []byte) ([]byte, bool) {
	var a kmsg.ConsumerMemberAssignment
	if a.ReadFrom(b) != nil || a.Version < 0 || a.Version > maxConsumerProtocolVersion {
		return nil, false
	}
	out := []byte(`{"assignedPartitions":[`)
	for i, t := range a.Topics {
		out = appendTopic(out, i, t.Topic, t.Partitions)
	}
	out = appendNullableBytes(append(out, `],"userData":`...), a.UserData)
	return append(out, '}'), true
}

func appendTopic(dst []byte, i int, topic string, partitions []int32) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	dst = append(appendString(append(dst, `{"topic":`...), topic), `,"partitions":[`...)
	for j, p := range partitions {
		if j > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(p), 10)
	}
	return append(dst, `]}`...)
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, s)
	}
	return append(dst, ']')
}

func appendString(dst []byte, s string) []byte { return offsets.AppendJSONString(dst, s) }

func appendNullableBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, `null`...)
	}
	dst = base64.StdEncoding.AppendEncode(append(dst, '"'), b)
	return append(dst, '"')
}
