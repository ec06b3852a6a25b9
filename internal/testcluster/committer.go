package testcluster

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// group is the group whose offset is committed; it has no members.
const group = "g"

// committer commits growing offsets for a group, and asks for them in between. It is the only one to do so.
type committer struct {
	*client
	coordinator int32
	offset      int64
}

// run commits and fetches until ctx ends.
func (c *committer) run(ctx context.Context) {
	defer c.close()
	for attempt := 0; ctx.Err() == nil; {
		if c.step() {
			attempt = 0
			time.Sleep(time.Duration(c.rng.Int64N(int64(200 * time.Millisecond))))
			continue
		}
		attempt++
		c.coordinator = 0
		c.backoff(attempt)
	}
}

// step does one thing; it reports whether that worked.
func (c *committer) step() bool {
	if c.coordinator == 0 && !c.find() {
		return false
	}
	if c.rng.IntN(3) == 0 {
		return c.fetch() == nil
	}
	return c.commit() == nil
}

func (c *committer) find() bool {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorKey = 3, group
	resp, err := c.ask(c.anyNode(), req)
	if err != nil {
		return false
	}
	r := resp.(*kmsg.FindCoordinatorResponse)
	if r.ErrorCode == 0 {
		c.coordinator = r.NodeID
	}
	return r.ErrorCode == 0
}

func (c *committer) commit() error {
	c.offset++
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group = 8, group
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = c.offset
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	c.history.commit(commitSent, c.offset, c.coordinator)
	resp, err := c.ask(c.coordinator, req)
	if err == nil {
		err = kerr.ErrorForCode(resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
	}
	if err == nil {
		c.history.commit(commitAcked, c.offset, c.coordinator)
	}
	c.cluster.events.add(c.name, "commits %d at n%d: %v", c.offset, c.coordinator, orOK(err))
	return err
}

func (c *committer) fetch() error {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group, req.RequireStable = 7, group, true
	t := kmsg.NewOffsetFetchRequestTopic()
	t.Topic, t.Partitions = topic, []int32{0}
	req.Topics = append(req.Topics, t)
	resp, err := c.ask(c.coordinator, req)
	if err != nil {
		return err
	}
	r := resp.(*kmsg.OffsetFetchResponse)
	if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
		return err
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return errors.New("the answer isn't about what was asked")
	}
	p := &r.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return err
	}
	c.history.commit(commitFetched, p.Offset, c.coordinator)
	c.cluster.events.add(c.name, "fetched %d from n%d", p.Offset, c.coordinator)
	return nil
}

// orOK is an error for the log.
func orOK(err error) any {
	if err == nil {
		return "ok"
	}
	return err
}
