package replica

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// firstBackoff is the first delay after an error; it doubles with each further one, up to
	// replica.fetch.backoff.ms. Most errors are of a leader that hasn't heard yet that it leads.
	firstBackoff = 10 * time.Millisecond
	// nudgeDelay is how long a fetch that waits at the leader goes on waiting when there is something
	// new to fetch; it gathers the news of one image.
	nudgeDelay = 10 * time.Millisecond
	// unsettledTime is how long after such news more is expected: fetches wait for nudgeDelay only and aren't
	// given up, since that costs the session and the connection.
	unsettledTime = time.Second
)

// fetcher copies partitions from one leader, with one fetch at a time. Its goroutine ends with cancel.
type fetcher struct {
	m      *Manager
	id     fetcherID
	ctx    context.Context
	cancel context.CancelFunc
	// news has a token when there is something new to look at.
	news chan struct{}

	mu sync.Mutex
	// The rest is guarded by mu.
	followed map[*Partition]*followed
	session  fetchSession
	// dirty are the partitions of which the session doesn't know the newest; each stands there once.
	dirty []*followed
	// resting are those that wait for their time after an error, or for a throttle.
	resting []*followed
	// failures counts failed fetches in a row; nothing is fetched before restUntil then.
	failures  int
	restUntil time.Time
	// interrupt gives up the fetch that is under way; nil without one, or if it doesn't wait for long.
	interrupt context.CancelFunc
	// unsettledUntil is when fetches may wait for long again.
	unsettledUntil time.Time
}

// followed is one partition of a fetcher. Guarded by the fetcher's mu.
type followed struct {
	p *Partition
	f following
	// dirty and resting tell in which of the fetcher's lists it stands; it is in one of them, or has
	// nothing new to ask.
	dirty, resting bool
	restUntil      time.Time
	failures       int
	// gone says that it was removed.
	gone bool
	// lag is how far the leader's high watermark was ahead when last heard of, -1 if never.
	lag int64
}

func newFetcher(m *Manager, id fetcherID) *fetcher {
	f := &fetcher{m: m, id: id, news: make(chan struct{}, 1), followed: make(map[*Partition]*followed), session: newFetchSession()}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// add has p fetched; what was known of it from former epochs is forgotten.
func (f *fetcher) add(p *Partition, to following) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.followed[p]
	if old != nil && old.f == to {
		return
	}
	if old != nil {
		f.drop(old)
	}
	fd := &followed{p: p, f: to, lag: -1}
	f.followed[p] = fd
	f.markDirty(fd)
	f.nudge()
}

// remove ends fetching of p, and returns how many partitions are left.
func (f *fetcher) remove(p *Partition) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fd := f.followed[p]; fd != nil {
		f.drop(fd)
	}
	return len(f.followed)
}

// drop forgets fd. Requires: f.mu held.
func (f *fetcher) drop(fd *followed) {
	fd.gone = true
	delete(f.followed, fd.p)
	f.session.forget(fd)
}

// following is what p was added with.
func (f *fetcher) following(p *Partition) (following, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fd := f.followed[p]
	if fd == nil {
		return following{}, false
	}
	return fd.f, true
}

// markDirty has the session told of fd. Requires: f.mu held.
func (f *fetcher) markDirty(fd *followed) {
	if !fd.dirty && !fd.gone {
		fd.dirty = true
		f.dirty = append(f.dirty, fd)
	}
}

// rest leaves fd out of fetches until a time. Requires: f.mu held.
func (f *fetcher) rest(fd *followed, until time.Time) {
	if fd.gone {
		return
	}
	f.session.forget(fd)
	fd.restUntil = until
	if !fd.resting {
		fd.resting = true
		f.resting = append(f.resting, fd)
	}
}

// backoff is the delay after so many failures in a row.
func (f *fetcher) backoff(failures int) time.Duration {
	limit := f.m.cfg.Replication.FetchBackoff
	return min(limit, firstBackoff<<min(failures-1, 20))
}

// signal makes the loop look again.
func (f *fetcher) signal() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// nudge is signal for something that a fetch under way should not hold up: a fetch may wait at the leader
// for long. Requires: f.mu held.
func (f *fetcher) nudge() {
	f.signal()
	f.unsettledUntil = f.m.now().Add(unsettledTime)
	if f.interrupt != nil {
		f.m.cfg.Clock.AfterFunc(nudgeDelay, f.interrupt)
		f.interrupt = nil // Once is enough.
	}
}

// run is the loop.
func (f *fetcher) run() {
	for f.ctx.Err() == nil {
		ctx, cancel := context.WithCancel(f.ctx)
		req, wait := f.next(cancel)
		if req != nil {
			resp, err := f.m.cfg.Peers.Fetch(ctx, f.id.leader, f.id.index, req)
			f.handle(ctx, resp, err)
			cancel()
			continue
		}
		cancel()
		f.sleep(wait)
	}
}

// sleep waits for news, at most d; without end where d is negative.
func (f *fetcher) sleep(d time.Duration) {
	if d >= 0 {
		t := f.m.cfg.Clock.AfterFunc(d, f.signal)
		defer t.Stop()
	}
	select {
	case <-f.news:
	case <-f.ctx.Done():
	}
}

// next makes the next fetch, which interrupt gives up; nil if there is nothing to fetch for wait (negative: until news).
func (f *fetcher) next(interrupt context.CancelFunc) (req *kmsg.FetchRequest, wait time.Duration) {
	epoch := f.m.brokerEpoch.Load()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interrupt = nil
	if epoch == noBrokerEpoch || len(f.followed) == 0 {
		return nil, -1
	}
	now := f.m.now()
	if d := f.restUntil.Sub(now); d > 0 {
		return nil, d
	}
	wait = f.wakeRested(now)
	if f.session.begin(f.dirty) {
		for _, fd := range f.followed {
			if !fd.resting {
				f.markDirty(fd)
			}
		}
		slices.SortFunc(f.dirty, func(a, b *followed) int { return compareKeys(keyOf(a.p), keyOf(b.p)) })
	}
	dirty := f.dirty
	f.dirty = nil
	for _, fd := range dirty {
		fd.dirty = false
		if fd.gone || fd.resting {
			continue
		}
		if d := f.throttled(fd, now); d > 0 {
			f.rest(fd, now.Add(d))
			if wait < 0 || d < wait {
				wait = d
			}
			continue
		}
		if a, ok := fd.p.nextAsk(fd.f); ok {
			f.session.ask(fd, a)
		} else {
			f.session.forget(fd)
		}
	}
	if f.session.empty() {
		return nil, wait
	}
	r := &f.m.cfg.Replication
	maxWait := r.FetchWaitMax
	if wait >= 0 {
		maxWait = min(maxWait, max(wait, time.Millisecond)) // Whoever rests now is due then.
	}
	unsettled := now.Before(f.unsettledUntil)
	if unsettled {
		maxWait = min(maxWait, nudgeDelay)
	}
	req = f.session.request(r.FetchMaxBytes)
	req.ReplicaState.ID, req.ReplicaState.Epoch = f.m.cfg.NodeID, epoch
	req.MaxWaitMillis = int32(maxWait / time.Millisecond)
	req.MinBytes, req.MaxBytes = r.FetchMinBytes, r.FetchResponseMaxBytes
	if !unsettled {
		f.interrupt = interrupt
	}
	return req, 0
}

// wakeRested makes those dirty whose time has come, and returns how long it is to the next one's,
// negative without one. Requires: f.mu held.
func (f *fetcher) wakeRested(now time.Time) time.Duration {
	next := time.Duration(-1)
	left := f.resting[:0]
	for _, fd := range f.resting {
		d := fd.restUntil.Sub(now)
		switch {
		case fd.gone:
		case d > 0:
			left = append(left, fd)
			if next < 0 || d < next {
				next = d
			}
		default:
			fd.resting = false
			f.markDirty(fd)
		}
	}
	clear(f.resting[len(left):])
	f.resting = left
	return next
}

// throttled is how long fd isn't to be fetched; followers that lack nothing are never throttled, as in
// Kafka. Requires: f.mu held.
func (f *fetcher) throttled(fd *followed, now time.Time) time.Duration {
	if fd.lag == 0 || !fd.p.followerThrottled.Load() {
		return 0
	}
	return f.m.followerThrottle.delay(now)
}

// handle takes a fetch's response, or its failure.
func (f *fetcher) handle(ctx context.Context, resp *kmsg.FetchResponse, err error) {
	f.mu.Lock()
	f.interrupt = nil
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	switch {
	case f.ctx.Err() != nil:
		f.mu.Unlock()
		return
	case err != nil && ctx.Err() != nil:
		f.session.reset() // It was given up for something new; whether the leader answered is unknown.
		f.mu.Unlock()
		return
	case err != nil:
		f.fetchFailed(err)
		f.mu.Unlock()
		return
	}
	f.failures = 0
	f.session.answered(resp.SessionID)
	f.mu.Unlock()
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			f.handlePartition(t.TopicID, &t.Partitions[j])
		}
	}
}

// fetchFailed begins a new session, after a rest unless it is only the session that the leader lost.
// Requires: f.mu held.
func (f *fetcher) fetchFailed(err error) {
	f.session.reset()
	f.failures++
	lost := errors.Is(err, kerr.FetchSessionIDNotFound) || errors.Is(err, kerr.InvalidFetchSessionEpoch)
	if lost && f.failures == 1 {
		return
	}
	d := f.backoff(f.failures)
	f.restUntil = f.m.now().Add(d)
	level := f.m.cfg.Logger.Warn
	if f.failures > 1 {
		level = f.m.cfg.Logger.Debug // Said once.
	}
	level("can't fetch from leader", "leader", f.id.leader, "fetcher", f.id.index, "partitions", len(f.followed), "retry_in", d, "error", err)
}
