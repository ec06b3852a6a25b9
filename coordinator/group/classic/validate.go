package classic

import "github.com/twmb/franz-go/pkg/kerr"

// validateMember checks that a request comes from a member, and a static one not from a
// predecessor of its instance id.
func (g *Group) validateMember(id string, instanceID *string) error {
	if instanceID != nil {
		m := g.staticMember(*instanceID)
		if m == nil {
			return kerr.UnknownMemberID
		}
		if m.ID != id {
			return kerr.FencedInstanceID
		}
	}
	if g.member(id) == nil {
		return kerr.UnknownMemberID
	}
	return nil
}

// ValidateOffsetCommit tells whether the group takes offsets from this sender: a member of the
// current generation, or anybody (generation -1) while the group is empty.
func (g *Group) ValidateOffsetCommit(memberID string, instanceID *string, generation int32) error {
	if generation < 0 && g.state == Empty {
		return nil
	}
	if generation >= 0 || memberID != "" || instanceID != nil {
		if err := g.validateMember(memberID, instanceID); err != nil {
			return err
		}
		if generation != g.generation {
			return kerr.IllegalGeneration
		}
	} else if g.state != Empty {
		return kerr.UnknownMemberID
	}
	if g.state == CompletingRebalance {
		return kerr.RebalanceInProgress
	}
	return nil
}

// ValidateOffsetDelete tells whether offsets may be deleted at all; while consumers are subscribed
// to a topic its offsets still may not.
func (g *Group) ValidateOffsetDelete() error {
	if g.state != Empty && !g.usesConsumerProtocol() {
		return kerr.NonEmptyGroup
	}
	return nil
}

// ValidateDelete tells whether the group may be deleted.
func (g *Group) ValidateDelete() error {
	if g.state != Empty {
		return kerr.NonEmptyGroup
	}
	return nil
}

// OffsetsExpire says from when the retention of the group's offsets counts: from the time the
// group became empty (since, ms), from each offset's commit (perCommit), or not at all now. KIP-211.
func (g *Group) OffsetsExpire() (since int64, perCommit, ok bool) {
	switch {
	case g.protocolType == nil:
		return 0, true, true
	case g.state == Empty:
		return g.stateSince, g.stateSince < 0, true
	case g.state == Stable && g.usesConsumerProtocol() && g.subscribed != nil:
		return 0, true, true
	}
	return 0, false, false
}
