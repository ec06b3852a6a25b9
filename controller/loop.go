package controller

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/ottla/ottla/controller/decide"
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// mailboxSize bounds the requests that wait to be decided; senders wait beyond it.
	mailboxSize = 128
	// inFlightSize bounds the decisions that wait for their commit; the loop waits beyond it.
	inFlightSize = 256
)

// command is a request on its way through the loop. done has room for its one result.
type command struct {
	req  kmsg.Request
	done chan result
}

type result struct {
	resp kmsg.Response
	// offset is that of the image which resp speaks of.
	offset int64
	err    error
}

// decision is a decided command on its way to its answer.
type decision struct {
	// cmd is nil for what is decided without a request.
	cmd *command
	// futures are the commits of the decision's records, in order; none if it has none. Such a decision still
	// waits for those before it, since it may tell of what they did.
	futures []raft.ApplyFuture
	resp    kmsg.Response
	// err is set where resp isn't to be told.
	err error
	// offset is that of the image with this decision and those before it.
	offset int64
	// term tells the leaderships of this node apart.
	term uint64
}

// answer tells whoever asked.
func (d *decision) answer(r result) {
	if d.cmd != nil {
		d.cmd.done <- r
	}
}

// cause names what was decided on, for the log.
func (d *decision) cause() string {
	if d.cmd == nil {
		return "clock"
	}
	return kmsg.NameForKey(d.cmd.req.Key())
}

// loop decides on requests, one at a time.
type loop struct {
	c *Controller

	mailbox    chan *command
	leadership chan bool
	inFlight   chan decision
	// lost tells the loop that a commit failed in a term.
	lost chan uint64
	// started tells whether the goroutines were started.
	started atomic.Bool
	// done is closed when the loop and the completer have ended.
	done chan struct{}

	// speculative is the committed image and all decisions in flight; nil unless this node is the
	// active controller. Owned by the loop's goroutine, as is term.
	speculative *image.Image
	term        uint64
	// live is what this leadership knows of the brokers' heartbeats; owned as speculative is, and nil with it.
	live *decide.Liveness
	// gone is sent to when a broker's connection ends, suspects when raft names another leader.
	gone     chan brokerGone
	suspects chan raft.Observation
	// formerLeader is the node that led the quorum last, other than this one; -1 if unknown. Owned as term is.
	formerLeader int32
	// tick is sent to when something may be due that no request asks for; alarm does that.
	tick  chan struct{}
	alarm clock.Timer
	// alarmAt is when alarm is set to; the zero time if it isn't set.
	alarmAt time.Time
}

func newLoop(c *Controller) *loop {
	return &loop{
		c:          c,
		mailbox:    make(chan *command, mailboxSize),
		leadership: make(chan bool, 16),
		inFlight:   make(chan decision, inFlightSize),
		lost:       make(chan uint64, 1),
		done:       make(chan struct{}),
		tick:       make(chan struct{}, 1),
		gone:       make(chan brokerGone, 16),
		suspects:   make(chan raft.Observation, 16),

		formerLeader: -1,
	}
}

func (l *loop) start() {
	l.started.Store(true)
	go func() {
		defer close(l.done)
		completed := make(chan struct{})
		go func() {
			defer close(completed)
			l.complete()
		}()
		l.run()
		close(l.inFlight)
		<-completed
	}()
}

// stop waits for both goroutines, and so for all that raft was asked. Requires: the controller is dead, raft isn't shut
// down.
func (l *loop) stop() { <-l.done }

func (l *loop) run() {
	defer l.disarm()
	for {
		l.arm()
		select {
		case leader := <-l.leadership:
			l.stepDown()
			if leader {
				l.lead()
			}
		case term := <-l.lost:
			if term == l.term {
				l.stepDown()
			}
		case cmd := <-l.mailbox:
			l.handle(cmd)
		case g := <-l.gone:
			if l.live != nil {
				l.live.Disconnected(g.broker, g.epoch, l.c.now())
			}
		case o := <-l.suspects:
			l.noteLeader(o)
		case <-l.tick:
			l.alarmAt = time.Time{}
			l.handleDue()
		case <-l.c.dead:
			return
		}
	}
}

// arm sets the alarm to when something is due next.
func (l *loop) arm() {
	if l.speculative == nil {
		l.disarm()
		return
	}
	now := l.c.now()
	due := decide.NextDue(l.env(now), l.live)
	if !l.alarmAt.IsZero() && !due.Before(l.alarmAt) {
		return // Heartbeats put it off all the time; an alarm that comes early only looks again.
	}
	l.disarm()
	l.alarmAt = due
	l.alarm = l.c.cfg.Clock.AfterFunc(max(due.Sub(now), 0), func() {
		select {
		case l.tick <- struct{}{}:
		default:
		}
	})
}

func (l *loop) disarm() {
	if l.alarm != nil {
		l.alarm.Stop()
	}
	l.alarm, l.alarmAt = nil, time.Time{}
}

// handleDue decides on what is due by the clock. The requests that wait go first: a heartbeat among them
// may show that a broker is alive.
func (l *loop) handleDue() {
	for range len(l.mailbox) {
		select {
		case cmd := <-l.mailbox:
			l.handle(cmd)
		default:
		}
	}
	if l.speculative == nil {
		return
	}
	if d := decide.Tick(l.env(l.c.now()), l.live); len(d.Records) > 0 {
		l.submit(nil, &d)
	}
}

// env is what a decision depends on. Requires: this node is the active controller.
func (l *loop) env(now time.Time) *decide.Env {
	return &decide.Env{
		Image: l.speculative, NodeID: l.c.cfg.NodeID, Now: now, Rand: l.c.cfg.Rand, Settings: l.c.cfg.Settings,
		Live: l.live, Incarnation: l.c.incarnation,
	}
}

// lead makes this node the active controller: it waits until everything that earlier leaders
// committed is in the image, and bootstraps a new cluster.
func (l *loop) lead() {
	term, err := l.c.raft.Load().barrier()
	if err != nil {
		l.c.logger.Info("lost the metadata quorum's leadership at once", "error", err)
		return
	}
	l.term = term
	l.speculative = l.c.fsm.state.Load() // Has all that was committed before; newer only if this leadership is over.
	if l.speculative.ClusterID() == "" {
		records := bootstrapRecords(l.c.cfg, l.c.foundedID)
		if err := l.propose(records); err != nil {
			l.stepDown()
			return
		}
		l.c.logger.Info("bootstrapped a new cluster", "clusterId", l.speculative.ClusterID())
	}
	l.live = decide.NewLiveness(l.speculative, l.c.cfg.Settings, l.c.now())
	for len(l.suspects) > 0 {
		l.noteLeader(<-l.suspects)
	}
	l.live.Suspect(l.formerLeader, l.c.now())
	if !l.c.markReady(l.speculative.Offset()) {
		l.stepDown()
		return
	}
	if peers := l.c.raft.Load().peers; peers != nil {
		peers.forget()
	}
	l.c.active.set(term)
	l.c.commits.tell(l.c.raft.Load().CommitIndex(), term)
	l.c.logger.Debug("active controller", "term", term)
}

// propose replicates records and waits for their commit.
func (l *loop) propose(records []metadata.Record) error {
	next, _, err := l.speculative.Apply(int32(l.term), records)
	if err != nil {
		l.c.fail(err)
		return err
	}
	f := l.c.raft.Load().Apply(appendEntry(nil, l.term, l.speculative.Offset(), records), 0)
	if err := f.Error(); err != nil {
		return err
	}
	if err, ok := f.Response().(error); ok {
		return err
	}
	l.speculative = next
	return nil
}

// stepDown drops the speculative image. Decisions in flight fail through their futures.
func (l *loop) stepDown() {
	l.speculative, l.live = nil, nil
	l.c.active.clear()
	l.c.observers.disconnect()
}

// handle decides on one request and sends its records to raft.
func (l *loop) handle(cmd *command) {
	if l.speculative == nil {
		cmd.done <- result{err: kerror.Wrap(kerr.NotController, ErrNotTaken)}
		return
	}
	env := l.env(l.c.now())
	switch cmd.req.(type) {
	case *kmsg.DescribeQuorumRequest, *kmsg.UpdateFeaturesRequest:
		env.Quorum = l.c.quorum(l.term)
	}
	d, err := decide.Decide(env, cmd.req)
	if err != nil {
		cmd.done <- result{err: err}
		return
	}
	l.submit(cmd, &d)
}

// submit sends a decision's records to raft and the rest to the completer; cmd is nil where nobody asked.
func (l *loop) submit(cmd *command, d *decide.Decision) {
	out := decision{cmd: cmd, resp: d.Response, term: l.term, offset: l.speculative.Offset()}
	for batch := range d.Batches() {
		next, _, err := l.speculative.Apply(int32(l.term), batch)
		if err != nil {
			// A decision that can't be replayed must not reach the log.
			l.c.logger.Error("refused a decision", "cause", out.cause(), "error", err)
			out.err = kerror.Wrap(kerr.UnknownServerError, err)
			break
		}
		out.futures = append(out.futures, l.c.raft.Load().Apply(appendEntry(nil, l.term, out.offset, batch), 0))
		l.speculative, out.offset = next, next.Offset()
	}
	l.inFlight <- out
}

// complete answers decisions in order, each after its commit and publication.
func (l *loop) complete() {
	var failed uint64 // the last term in which a commit failed
	for d := range l.inFlight {
		err := raft.ErrLeadershipLost
		if d.term != failed {
			err = l.awaitAll(d.futures)
		}
		if err == nil {
			d.answer(result{resp: d.resp, offset: d.offset, err: d.err})
			continue
		}
		if failed != d.term {
			failed = d.term
			select {
			case l.lost <- d.term:
			default:
			}
		}
		d.answer(result{err: kerror.Wrap(kerr.NotController, err)})
	}
}

// awaitAll waits for a decision's entries. The error wraps ErrNotTaken if raft refused the first, and so all.
func (l *loop) awaitAll(futures []raft.ApplyFuture) error {
	for i, f := range futures {
		err := l.await(f)
		if i == 0 && (errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress)) {
			return errors.Join(ErrNotTaken, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var errNotPublished = errors.New("controller stopped before the change was published")

// await waits until an entry is committed, applied and seen by this node's subscribers.
func (l *loop) await(f raft.ApplyFuture) error {
	if err := f.Error(); err != nil {
		return err
	}
	switch r := f.Response().(type) {
	case error:
		return r
	case int64:
		if !l.c.publisher.wait(r, nil) {
			return errNotPublished
		}
	}
	return nil
}
