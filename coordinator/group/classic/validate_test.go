package classic

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

func ptr(s string) *string { return &s }

// testGroup is a group in state with a dynamic member "m" and a static one "s" of instance "i", in
// generation 3 and of the given protocol type.
func testGroup(state State, protocolType string) *Group {
	g := New("g", &Config{MaxSize: 10})
	g.state, g.generation = state, 3
	if protocolType != "" {
		g.protocolType = &protocolType
	}
	if state == Empty {
		return g
	}
	g.protocol = ptr("range")
	g.members = []*Member{
		{ID: "m", Protocols: []Protocol{{"range", []byte("unreadable")}}},
		{ID: "s", InstanceID: ptr("i"), Protocols: []Protocol{{"range", []byte("unreadable")}}},
	}
	g.subscribed = g.subscriptions()
	return g
}

// TestValidateOffsetCommit is the whole of who may commit when; as Kafka's ClassicGroup.
func TestValidateOffsetCommit(t *testing.T) {
	for _, tc := range []struct {
		state      State
		member     string
		instance   *string
		generation int32
		want       error
	}{
		{Empty, "", nil, -1, nil},
		{Empty, "ghost", nil, -1, nil},
		{Empty, "ghost", nil, 3, kerr.UnknownMemberID},
		{Empty, "", nil, 3, kerr.UnknownMemberID},
		{Stable, "", nil, -1, kerr.UnknownMemberID},
		{Stable, "m", nil, 3, nil},
		{Stable, "m", nil, 2, kerr.IllegalGeneration},
		{Stable, "m", nil, -1, kerr.IllegalGeneration},
		{Stable, "ghost", nil, 3, kerr.UnknownMemberID},
		{Stable, "s", ptr("i"), 3, nil},
		{Stable, "s", nil, 3, nil},
		{Stable, "m", ptr("i"), 3, kerr.FencedInstanceID},
		{Stable, "s", ptr("j"), 3, kerr.UnknownMemberID},
		{Stable, "", ptr("i"), 3, kerr.FencedInstanceID},
		{PreparingRebalance, "m", nil, 3, nil},
		{PreparingRebalance, "m", nil, 2, kerr.IllegalGeneration},
		{CompletingRebalance, "m", nil, 3, kerr.RebalanceInProgress},
		{CompletingRebalance, "m", nil, 2, kerr.IllegalGeneration},
		{CompletingRebalance, "ghost", nil, 3, kerr.UnknownMemberID},
	} {
		if err := testGroup(tc.state, "consumer").ValidateOffsetCommit(tc.member, tc.instance, tc.generation); !errors.Is(err, tc.want) {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

// TestOffsetsExpire says from when on the retention of offsets counts; as Kafka's
// ClassicGroup.offsetExpirationCondition.
func TestOffsetsExpire(t *testing.T) {
	for _, tc := range []struct {
		name          string
		state         State
		protocolType  string
		since         int64
		wantSince     int64
		perCommit, ok bool
	}{
		{"offsets only", Empty, "", -1, 0, true, true},
		{"empty since 7", Empty, "consumer", 7, 7, false, true},
		{"empty, it isn't known since when", Empty, "consumer", -1, -1, true, true},
		{"empty, other type", Empty, "connect", 7, 7, false, true},
		{"consumers with a subscription that can't be read", Stable, "consumer", 7, 0, false, false},
		{"rebalance", PreparingRebalance, "consumer", 7, 0, false, false},
		{"stable, other type", Stable, "connect", 7, 0, false, false},
	} {
		g := testGroup(tc.state, tc.protocolType)
		g.stateSince = tc.since
		since, perCommit, ok := g.OffsetsExpire()
		if since != tc.wantSince || perCommit != tc.perCommit || ok != tc.ok {
			t.Errorf("%s: %d, %t, %t", tc.name, since, perCommit, ok)
		}
	}
	g := testGroup(Stable, "consumer")
	for _, m := range g.members {
		m.Protocols[0].Metadata = subscriptionOf("t")
	}
	g.subscribed = g.subscriptions()
	if _, perCommit, ok := g.OffsetsExpire(); !perCommit || !ok || !g.IsSubscribedTo("t") || g.IsSubscribedTo("u") {
		t.Error("stable consumers: offsets of topics that nobody consumes expire from their commit on")
	}
}

// TestValidateDeletes: groups with members can't be deleted, offsets of consumers can.
func TestValidateDeletes(t *testing.T) {
	for _, tc := range []struct {
		state          State
		protocolType   string
		group, offsets error
	}{
		{Empty, "consumer", nil, nil}, {Empty, "", nil, nil},
		{Stable, "consumer", kerr.NonEmptyGroup, nil}, {Stable, "connect", kerr.NonEmptyGroup, kerr.NonEmptyGroup},
		{PreparingRebalance, "connect", kerr.NonEmptyGroup, kerr.NonEmptyGroup},
	} {
		g := testGroup(tc.state, tc.protocolType)
		if err := g.ValidateDelete(); !errors.Is(err, tc.group) {
			t.Errorf("%+v: %v", tc, err)
		}
		if err := g.ValidateOffsetDelete(); !errors.Is(err, tc.offsets) {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}
