package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
)

// placer puts replicas on brokers as Kafka's StripedReplicaPlacer does. Racks come first: a partition
// takes its replicas from the racks in turn, the next partition starts with the next rack. Within a rack
// brokers take turns too, the fenced ones only when it has no others left, and never as leaders. So a
// fenced broker in another rack is preferred to a second active one in the same.
type placer struct {
	rng *rand.Rand
	// racks are in order of their names until they are shuffled; brokers without a rack form one of their
	// own.
	racks []*rack
	// start is the rack that the next partition starts with.
	start int
	// placed counts the partitions since the last shuffle.
	placed          int
	brokers, active int
}

// rack is the brokers of one rack.
type rack struct {
	name           string
	active, fenced turns
}

// turns is a list of brokers that take turns.
type turns struct {
	ids []int32
	// first is where this partition starts in ids, taken how many it has.
	first, taken int
}

// next is the broker whose turn it is, false if the partition has all of them.
func (t *turns) next() (int32, bool) {
	if t.taken == len(t.ids) {
		return 0, false
	}
	id := t.ids[(t.first+t.taken)%len(t.ids)]
	t.taken++
	return id, true
}

// pass begins the next partition, with another broker if this one had any.
func (t *turns) pass() {
	if t.taken > 0 {
		t.first, t.taken = (t.first+1)%len(t.ids), 0
	}
}

func (t *turns) shuffle(rng *rand.Rand) {
	rng.Shuffle(len(t.ids), func(i, k int) { t.ids[i], t.ids[k] = t.ids[k], t.ids[i] })
}

// newPlacer knows the brokers that take new replicas: not those that shut down or have all their
// directories cordoned.
func newPlacer(m *image.Image, rng *rand.Rand) *placer {
	p := &placer{rng: rng}
	for _, b := range m.Brokers() {
		if !b.Fenced && b.InControlledShutdown || !b.HasUncordonedDir() {
			continue
		}
		r := p.rackOf(b)
		p.brokers++
		if b.Fenced {
			r.fenced.ids = append(r.fenced.ids, b.ID)
			continue
		}
		r.active.ids = append(r.active.ids, b.ID)
		p.active++
	}
	for _, r := range p.racks {
		for _, t := range []*turns{&r.active, &r.fenced} {
			if len(t.ids) > 0 {
				t.first = rng.IntN(len(t.ids))
			}
		}
	}
	if len(p.racks) > 0 {
		p.start = rng.IntN(len(p.racks))
	}
	return p
}

func (p *placer) rackOf(b *image.Broker) *rack {
	name := ""
	if b.Rack != nil {
		name = *b.Rack
	}
	i, found := slices.BinarySearchFunc(p.racks, name, func(r *rack, name string) int { return strings.Compare(r.name, name) })
	if !found {
		p.racks = slices.Insert(p.racks, i, &rack{name: name})
	}
	return p.racks[i]
}

// isActive tells whether a broker may lead and be in sync.
func isActive(b *image.Broker) bool { return !b.Fenced && !b.InControlledShutdown }

// check tells whether a replication factor can be had.
func (p *placer) check(factor int) error {
	why := ""
	switch {
	case factor > p.brokers:
		why = fmt.Sprintf("The target replication factor of %d cannot be reached because only %d broker(s) are registered or some brokers "+
			"have all their log directories cordoned.", factor, p.brokers)
	case p.active == 0:
		why = "All brokers are currently fenced, or have all their log directories cordoned."
	default:
		return nil
	}
	return kerror.New(kerr.InvalidReplicationFactor, "Unable to replicate the partition %d time(s): %s", factor, why)
}

// place returns the replicas of the next partition, the leader first. Requires: check(factor) == nil.
func (p *placer) place(factor int) []int32 {
	// Once every broker has led, what would come is what was: mix.
	if p.placed == p.active && p.active > 1 {
		p.shuffle()
	}
	replicas := make([]int32, 0, factor)
	leading := p.start
	for len(replicas) == 0 {
		if id, ok := p.racks[leading].active.next(); ok {
			replicas = append(replicas, id)
			break
		}
		leading = (leading + 1) % len(p.racks)
	}
	// The leader's rack is passed over once, when its turn comes.
	for i := p.start; len(replicas) < factor; i = (i + 1) % len(p.racks) {
		if i == leading {
			leading = -1
			continue
		}
		r := p.racks[i]
		id, ok := r.active.next()
		if !ok {
			id, ok = r.fenced.next()
		}
		if ok {
			replicas = append(replicas, id)
		}
	}
	for _, r := range p.racks {
		r.active.pass()
		r.fenced.pass()
	}
	p.start = (p.start + 1) % len(p.racks)
	p.placed++
	return replicas
}

func (p *placer) shuffle() {
	p.rng.Shuffle(len(p.racks), func(i, k int) { p.racks[i], p.racks[k] = p.racks[k], p.racks[i] })
	for _, r := range p.racks {
		r.active.shuffle(p.rng)
		r.fenced.shuffle(p.rng)
	}
	p.placed = 0
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
		if !m.Broker(id).HasUncordonedDir() {
			return kerror.New(kerr.InvalidReplicaAssignment, "The manual partition assignment includes broker %d, but all its log directories are cordoned.", id)
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
