package decide

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
)

// placer puts replicas on brokers as Kafka's StripedReplicaPlacer aims to: leaders in turn over all
// brokers from a random start, the replicas of a partition over as many racks as there are, fenced
// brokers only where there aren't enough others and never first.
type placer struct {
	// racks are in order of their names; brokers without a rack form one of their own.
	racks []*rack
	// next is the rack that the next partition starts with.
	next            int
	brokers, active int
}

// rack is the brokers of one rack, shuffled.
type rack struct {
	name           string
	active, fenced []int32
	// cursor is where the next partition starts in active and fenced.
	cursor int
}

func newPlacer(m *image.Image, rng *rand.Rand) *placer {
	p := &placer{}
	for _, b := range m.Brokers() {
		name := ""
		if b.Rack != nil {
			name = *b.Rack
		}
		i, found := slices.BinarySearchFunc(p.racks, name, func(r *rack, name string) int { return strings.Compare(r.name, name) })
		if !found {
			p.racks = slices.Insert(p.racks, i, &rack{name: name})
		}
		if r := p.racks[i]; isActive(b) {
			r.active = append(r.active, b.ID)
			p.active++
		} else {
			r.fenced = append(r.fenced, b.ID)
		}
		p.brokers++
	}
	for _, r := range p.racks {
		rng.Shuffle(len(r.active), func(i, j int) { r.active[i], r.active[j] = r.active[j], r.active[i] })
		rng.Shuffle(len(r.fenced), func(i, j int) { r.fenced[i], r.fenced[j] = r.fenced[j], r.fenced[i] })
	}
	if len(p.racks) > 0 {
		p.next = rng.IntN(len(p.racks))
	}
	return p
}

// isActive tells whether a broker may lead and be in sync.
func isActive(b *image.Broker) bool { return !b.Fenced && !b.InControlledShutdown }

// check tells whether a replication factor can be had.
func (p *placer) check(factor int) error {
	why := ""
	switch {
	case p.active == 0:
		why = "All brokers are currently fenced or in controlled shutdown."
	case factor > p.brokers:
		return kerror.New(kerr.InvalidReplicationFactor, "Unable to replicate the partition %d time(s): The target replication factor of %d cannot be reached "+
			"because only %d broker(s) are registered or some brokers have all their log directories cordoned.", factor, factor, p.brokers)
	default:
		return nil
	}
	return kerror.New(kerr.InvalidReplicationFactor, "Unable to replicate the partition %d time(s): %s", factor, why)
}

// place returns the replicas of the next partition, the leader first. Requires: check(factor) == nil.
func (p *placer) place(factor int) []int32 {
	replicas := make([]int32, 0, factor)
	replicas = p.stripe(replicas, factor, func(r *rack) []int32 { return r.active })
	replicas = p.stripe(replicas, factor, func(r *rack) []int32 { return r.fenced })
	for _, r := range p.racks {
		if slices.ContainsFunc(replicas, func(id int32) bool { return slices.Contains(r.active, id) || slices.Contains(r.fenced, id) }) {
			r.cursor++
		}
	}
	p.next = (p.next + 1) % len(p.racks)
	return replicas
}

// stripe adds brokers, one of each rack in turn, until there are enough or no more.
func (p *placer) stripe(replicas []int32, factor int, of func(*rack) []int32) []int32 {
	for round, found := 0, true; found && len(replicas) < factor; round++ {
		found = false
		for i := range p.racks {
			r := p.racks[(p.next+i)%len(p.racks)]
			list := of(r)
			if round >= len(list) || len(replicas) == factor {
				continue
			}
			found = true
			replicas = append(replicas, list[(r.cursor+round)%len(list)])
		}
	}
	return replicas
}

// validateAssignment checks the replicas that a request asks for; factor is that of the partitions
// before it, 0 for the first.
func validateAssignment(m *image.Image, replicas []int32, factor int) error {
	if len(replicas) == 0 {
		return kerror.New(kerr.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	sorted := slices.Sorted(slices.Values(replicas))
	for i, id := range sorted {
		if m.Broker(id) == nil {
			return kerror.New(kerr.InvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", id)
		}
		if i > 0 && sorted[i-1] == id {
			return kerror.New(kerr.InvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", id)
		}
	}
	if factor > 0 && len(replicas) != factor {
		return kerror.New(kerr.InvalidReplicaAssignment, "The manual partition assignment includes a partition with %d replica(s), "+
			"but this is not consistent with previous partitions, which have %d replica(s).", len(replicas), factor)
	}
	return nil
}

// activeOf are those of the replicas that may be in sync.
func activeOf(m *image.Image, replicas []int32) []int32 {
	var isr []int32
	for _, id := range replicas {
		if b := m.Broker(id); b != nil && isActive(b) {
			isr = append(isr, id)
		}
	}
	return isr
}
