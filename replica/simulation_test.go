package replica

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/image"
)

var simulationSeeds = flag.Int("seeds", 40, "how many seeds the simulation of replication runs")

// simulation is a cluster under random events: appends, fetches whose messages are late or lost, images
// that come late, brokers that die, some with what they hadn't synced, that are declared dead while they
// live, elections, and time that jumps. One seed makes one run.
type simulation struct {
	*cluster
	rng     *rand.Rand
	flights []*flight
	appends []*simAppend
	// committed are the values below some broker's high watermark, by offset: they must never differ.
	committed map[int64]string
	// told is the largest high watermark that clients saw in a leader epoch.
	told map[int32]int64
	// known is each life's high watermark: without unclean elections nobody's goes back.
	known map[int64]int64
	count int
	// failure is the first rule that was broken.
	failure error
}

// flight is a fetch on its way.
type flight struct {
	f      *fetcher
	life   int64 // the broker epoch of the follower's life
	from   int32
	req    *kmsg.FetchRequest
	resp   *kmsg.FetchResponse
	err    error
	served bool
	ctx    context.Context
	cancel context.CancelFunc
}

// simAppend is an append with acks=all.
type simAppend struct {
	broker         int32
	life           int64
	epoch          int32
	offset         int64
	value          string
	acked, settled bool
}

func newSimulation(t testing.TB, seed uint64) *simulation {
	rng := rand.New(rand.NewPCG(seed, 7))
	s := &simulation{rng: rng, committed: map[int64]string{}, told: map[int32]int64{}, known: map[int64]int64{}}
	s.cluster = newCluster(t, 3, 1+int32(rng.IntN(2)), 1, 2, 3)
	s.loseRequest = func() bool { return rng.IntN(8) == 0 }
	s.loseAnswer = func() bool { return rng.IntN(8) == 0 }
	return s
}

func (s *simulation) broke(format string, args ...any) {
	if s.failure == nil {
		s.failure = fmt.Errorf(format, args...)
	}
}

// run makes events until a rule is broken, then heals the cluster and checks the end.
func (s *simulation) run(events int) error {
	for range events {
		s.event()
		s.settleAppends()
		s.check()
		if s.failure != nil {
			return s.failure
		}
	}
	s.heal()
	return s.failure
}

func (s *simulation) anyID() int32 { return int32(1 + s.rng.IntN(3)) }

func (s *simulation) event() {
	id := s.anyID()
	n := s.nodes[id]
	switch x := s.rng.IntN(100); {
	case x < 14:
		s.append()
	case x < 64:
		for range 1 + s.rng.IntN(6) {
			s.network()
		}
	case x < 82:
		for range 1 + s.rng.IntN(3) {
			s.publish(id)
		}
	case x < 93:
		s.advance(time.Duration(1+s.rng.IntN(100)) * time.Millisecond)
	case x < 94:
		s.advance(time.Duration(s.rng.IntN(20_000)) * time.Millisecond)
	case x < 95: // A broker that is thought dead, or is again thought alive.
		switch {
		case s.alive(id):
			s.fence(id)
		case n.up && n.seen == len(s.images):
			s.unfence(id)
		}
	case x < 96:
		if p := s.part(); slices.Contains(p.ISR, id) && s.alive(id) && p.Leader != id {
			s.change(id, p.ISR)
		}
	case x < 97:
		if n.up {
			// The last member of an ISR may lose what it alone has: no rule holds then. So a power loss is
			// noticed at once, before others die too.
			powerLoss := !slices.Equal(s.part().ISR, []int32{id}) && s.rng.IntN(2) == 0
			s.kill(id, powerLoss, rand.New(rand.NewPCG(s.rng.Uint64(), 1)))
			if powerLoss && s.alive(id) {
				s.fence(id)
			}
		}
	default:
		if !n.up {
			s.start(id)
		}
	}
}

// append sends a batch to a broker that believes to lead.
func (s *simulation) append() {
	for _, id := range s.ids() {
		n := s.nodes[id]
		if !n.up || n.partition() == nil || n.partition().leading.Load() == notLeading {
			continue
		}
		s.count++
		values := make([]string, 1+s.rng.IntN(2))
		for i := range values {
			values[i] = fmt.Sprintf("v%d.%d", s.count, i)
		}
		epoch := n.partition().leading.Load()
		pp := s.produce(id, -1, values...)
		if pp.Err != nil {
			continue
		}
		for i, v := range values {
			s.appends = append(s.appends, &simAppend{broker: id, life: n.epoch, epoch: epoch, offset: pp.FirstOffset + int64(i), value: v})
		}
	}
}

// settleAppends finds out which appends are acknowledged by now, as AwaitProduce would.
func (s *simulation) settleAppends() {
	for _, a := range s.appends {
		if a.settled {
			continue
		}
		n := s.nodes[a.broker]
		if !n.up || n.epoch != a.life || n.partition() == nil || n.partition().leading.Load() != a.epoch {
			a.settled = true
			continue
		}
		if p := n.partition(); p.HighWatermark() > a.offset {
			a.settled, a.acked = true, p.checkCommitted() == nil
		}
	}
}

// network moves one message of one fetch.
func (s *simulation) network() {
	if len(s.flights) > 0 && s.rng.IntN(3) > 0 {
		i := s.rng.IntN(len(s.flights))
		fl := s.flights[i]
		lost := s.rng.IntN(20) == 0
		switch {
		case !fl.served && !lost:
			fl.served = true
			fl.resp, fl.err = clusterPeers{s.cluster, s.nodes[fl.from]}.Fetch(fl.ctx, fl.f.id.leader, 0, fl.req)
			return
		case lost:
			fl.resp, fl.err = nil, errUnreachable
		}
		s.flights = slices.Delete(s.flights, i, i+1)
		if n := s.nodes[fl.from]; n.up && n.epoch == fl.life && fl.f.ctx.Err() == nil {
			fl.f.handle(fl.ctx, fl.resp, fl.err)
		}
		fl.cancel()
		return
	}
	id := s.anyID()
	for _, f := range s.fetchersOf(id) {
		if slices.ContainsFunc(s.flights, func(fl *flight) bool { return fl.f == f }) {
			continue
		}
		ctx, cancel := context.WithCancel(f.ctx)
		if req, _ := f.next(cancel); req != nil {
			s.flights = append(s.flights, &flight{f: f, life: s.nodes[id].epoch, from: id, req: req, ctx: ctx, cancel: cancel})
		} else {
			cancel()
		}
	}
}

// check holds the rules that must hold at any time.
func (s *simulation) check() {
	for _, id := range s.ids() {
		n := s.nodes[id]
		if !n.up || n.partition() == nil {
			continue
		}
		p := n.partition()
		start, high, end := p.StartOffset(), p.HighWatermark(), p.EndOffset()
		if start > high || high > end {
			s.broke("broker %d: start %d, high watermark %d, end %d", id, start, high, end)
		}
		if high < s.known[n.epoch] {
			s.broke("broker %d: the high watermark went from %d to %d", id, s.known[n.epoch], high)
		}
		s.known[n.epoch] = high
		if epoch := p.leading.Load(); epoch != notLeading {
			if high < s.told[epoch] {
				s.broke("broker %d: the high watermark of epoch %d went from %d to %d", id, epoch, s.told[epoch], high)
			}
			s.told[epoch] = high
		}
		log := s.stored(id)
		for _, r := range log {
			if r.offset >= high {
				break
			}
			if was, ok := s.committed[r.offset]; ok && was != r.value {
				s.broke("broker %d has %q at committed offset %d, another one had %q", id, r.value, r.offset, was)
			}
			s.committed[r.offset] = r.value
		}
		if p.leading.Load() == s.part().LeaderEpoch {
			s.checkAcked(id, log)
		}
	}
}

// checkAcked holds that the newest leader has all that was acknowledged.
func (s *simulation) checkAcked(id int32, log []stored) {
	has := map[int64]string{}
	for _, r := range log {
		has[r.offset] = r.value
	}
	for _, a := range s.appends {
		if a.acked && has[a.offset] != a.value {
			s.broke("broker %d leads epoch %d, and has %q at offset %d, where %q was acknowledged in epoch %d",
				id, s.part().LeaderEpoch, has[a.offset], a.offset, a.value, a.epoch)
		}
	}
}

// heal ends all trouble; then everybody must have the same, and be in sync.
func (s *simulation) heal() {
	s.loseRequest, s.loseAnswer = nil, nil
	s.flights = nil
	for _, id := range s.ids() {
		if !s.nodes[id].up {
			s.start(id)
		}
	}
	s.publishAll()
	for _, id := range s.ids() {
		if !s.alive(id) {
			s.unfence(id)
		}
	}
	s.advance(time.Minute) // Whoever rests is done resting.
	s.settle()
	s.settle()
	s.settleAppends()
	s.check()
	if s.failure != nil {
		return
	}
	if p := s.part(); p.Leader == image.NoLeader || len(p.ISR) != 3 {
		s.broke("not healed: leader %d, ISR %v", p.Leader, p.ISR)
		return
	}
	one := s.stored(1)
	for id := int32(2); id <= 3; id++ {
		if log := s.stored(id); !slices.Equal(log, one) {
			s.broke("broker 1 has %v, broker %d has %v", one, id, log)
		}
	}
	for _, id := range s.ids() {
		if p := s.nodes[id].partition(); p.HighWatermark() != p.EndOffset() {
			s.broke("broker %d: high watermark %d, log end %d", id, p.HighWatermark(), p.EndOffset())
		}
	}
}

const simulationEvents = 400

// TestSimulation runs seeds: what was acknowledged stays, logs agree below the high watermark, which never
// goes back, and a healed cluster is whole.
func TestSimulation(t *testing.T) {
	acked := 0
	for seed := range uint64(*simulationSeeds) {
		s := newSimulation(t, seed)
		if err := s.run(simulationEvents); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, a := range s.appends {
			if a.acked {
				acked++
			}
		}
		s.stopAll()
	}
	t.Logf("%d records acknowledged in %d runs", acked, *simulationSeeds)
	if acked < 10**simulationSeeds {
		t.Errorf("%d records were acknowledged in %d runs: the simulation tests little", acked, *simulationSeeds)
	}
}

// TestSimulationFindsPlantedBug has leaders advance the high watermark one too early, which the simulation
// must find.
func TestSimulationFindsPlantedBug(t *testing.T) {
	for seed := range uint64(500) {
		s := newSimulation(t, seed)
		s.overstate = true
		err := s.run(simulationEvents)
		s.stopAll()
		if err != nil {
			t.Logf("found by seed %d: %v", seed, err)
			return
		}
	}
	t.Error("500 seeds found nothing")
}
