package classic

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func subscriptionOf(topics ...string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0, 3}, uint32(len(topics)))
	for _, t := range topics {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(t))), t...)
	}
	return append(b, 0xff, 0xff, 0xff, 0xff)
}

// TestAddSubscription reads subscriptions, and refuses those that are cut short or lie about lengths.
func TestAddSubscription(t *testing.T) {
	good := subscriptionOf("a", "", "bc")
	for _, tc := range []struct {
		name string
		b    []byte
		want string
		ok   bool
	}{
		{"three", good, ",a,bc", true},
		{"none", subscriptionOf(), "", true},
		{"no user data", good[:len(good)-4], ",a,bc", true},
		{"empty", nil, "", false},
		{"version only", good[:5], "", false},
		{"no topic", good[:6], "", false},
		{"cut in a topic", good[:8], "", false},
		{"null topic", []byte{0, 0, 0, 0, 0, 1, 0xff, 0xff}, "", false},
		{"huge count", []byte{0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 1, 'a'}, "a", false},
		{"null list", []byte{0, 0, 0xff, 0xff, 0xff, 0xff}, "", true},
	} {
		topics := map[string]struct{}{}
		ok := addSubscription(topics, tc.b)
		if got := strings.Join(slices.Sorted(maps.Keys(topics)), ","); ok != tc.ok || got != tc.want {
			t.Errorf("%s: %q, %t", tc.name, got, ok)
		}
	}
}

func FuzzAddSubscription(f *testing.F) {
	f.Add(subscriptionOf("a", "bc"))
	f.Add([]byte{0, 0, 0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		topics := map[string]struct{}{}
		addSubscription(topics, b)
		size := 0
		for topic := range topics {
			size += 2 + len(topic)
		}
		if size > len(b) {
			t.Errorf("%d bytes of topics out of %d", size, len(b))
		}
	})
}

// TestSelectProtocol lets members vote.
func TestSelectProtocol(t *testing.T) {
	for _, tc := range []struct {
		members []string // protocols by preference
		want    string
	}{
		{[]string{"a b"}, "a"}, {[]string{"a b", "b a", "b a"}, "b"}, {[]string{"a b", "b a"}, "a"}, {[]string{"a c", "b c"}, "c"},
		{[]string{"a a b", "b"}, "b"}, {[]string{"a", "b"}, ""}, {nil, ""},
	} {
		var members []*Member
		for _, protocols := range tc.members {
			m := &Member{}
			for _, p := range strings.Fields(protocols) {
				m.Protocols = append(m.Protocols, Protocol{Name: p})
			}
			members = append(members, m)
		}
		if got := selectProtocol(members); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.members, got, tc.want)
		}
	}
}

// TestMemberProtocols tells whether a JoinGroup brings something new, and what a member says.
func TestMemberProtocols(t *testing.T) {
	m := &Member{Protocols: []Protocol{{"a", []byte("1")}, {"b", []byte("2")}}}
	ask := func(pairs ...string) (list []kmsg.JoinGroupRequestProtocol) {
		for _, p := range pairs {
			name, metadata, _ := strings.Cut(p, "=")
			list = append(list, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: []byte(metadata)})
		}
		return list
	}
	if !m.matches(ask("a=1", "b=2")) {
		t.Error("the same protocols are taken for others")
	}
	for _, other := range [][]string{{"a=1"}, {"b=2", "a=1"}, {"a=1", "b=3"}, {"a=1", "c=2"}, {"a=1", "b=2", "c=3"}, nil} {
		if m.matches(ask(other...)) {
			t.Errorf("%q are taken for the same", other)
		}
	}
	if string(m.metadata("b")) != "2" || m.metadata("c") == nil || len(m.metadata("c")) != 0 {
		t.Error("metadata of a protocol that the member doesn't support must be empty and not null")
	}
}

// TestSupportsProtocols: an empty group takes any protocol, others one that all members have.
func TestSupportsProtocols(t *testing.T) {
	named := func(names ...string) (list []kmsg.JoinGroupRequestProtocol) {
		for _, n := range names {
			list = append(list, kmsg.JoinGroupRequestProtocol{Name: n})
		}
		return list
	}
	for _, tc := range []struct {
		state        State
		protocolType string
		protocols    []kmsg.JoinGroupRequestProtocol
		want         bool
	}{
		{Empty, "x", named("y"), true}, {Empty, "", named("y"), false}, {Empty, "x", nil, false},
		{Stable, "consumer", named("y", "range"), true}, {Stable, "consumer", named("y"), false}, {Stable, "connect", named("range"), false},
	} {
		if got := testGroup(tc.state, "consumer").supportsProtocols(tc.protocolType, tc.protocols); got != tc.want {
			t.Errorf("%+v: %t", tc, got)
		}
	}
}

// TestReason cuts what a client may add to the log.
func TestReason(t *testing.T) {
	long := strings.Repeat("x", 300)
	for reason1, want := range map[string]string{"": "", "a": "; client reason: a", "\xff": "; client reason: ?", long: "; client reason: " + long[:255]} {
		if got := reason(&kmsg.JoinGroupRequest{Reason: &reason1}); got != want {
			t.Errorf("%q: %q", reason1, got)
		}
	}
	if got := reason(&kmsg.JoinGroupRequest{}); got != "" {
		t.Errorf("null: %q", got)
	}
}
