package handlers

import (
	"maps"
	"slices"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleDescribeTopicPartitions answers DescribeTopicPartitions, version 0 (KIP-966): topics in order
// of names, in pages of at most max.request.partition.size.limit partitions that a cursor continues.
func handleDescribeTopicPartitions(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.DescribeTopicPartitionsRequest)
	names := make(map[string]bool, len(req.Topics))
	for _, t := range req.Topics {
		names[t.Topic] = true
	}
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	from, first := "", int32(0)
	if c := req.Cursor; c != nil {
		if c.Partition < 0 || len(names) > 0 && !names[c.Topic] {
			for _, t := range req.Topics {
				out := kmsg.NewDescribeTopicPartitionsResponseTopic()
				out.Topic, out.ErrorCode = kmsg.StringPtr(t.Topic), kerr.InvalidRequest.Code
				resp.Topics = append(resp.Topics, out)
			}
			r.Reply(resp)
			return
		}
		from, first = c.Topic, c.Partition
	}
	p := partitionPage{
		d: d, r: r, img: d.Image(), resp: resp,
		left: max(min(int(req.ResponsePartitionLimit), int(d.Configs.Broker().Network.RequestPartitionSizeLimit)), 1),
	}
	start := func(name string) int32 {
		if name == from {
			return first
		}
		return 0
	}
	if len(names) == 0 {
		for t := range p.img.TopicsFrom(from) {
			if !p.add(t.Name, t, start(t.Name)) {
				break
			}
		}
		r.Reply(resp)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if name >= from && !p.add(name, p.img.Topic(name), start(name)) {
			break
		}
	}
	r.Reply(resp)
}

// partitionPage fills one answer.
type partitionPage struct {
	d    *Deps
	r    *wire.Request
	img  *image.Image
	resp *kmsg.DescribeTopicPartitionsResponse
	// left is how many partitions may still be added.
	left int
}

// add adds a topic's partitions from index first on; t is nil for a topic that doesn't exist. False
// when the page is full; the cursor then tells where the next one starts.
func (p *partitionPage) add(name string, t *image.Topic, first int32) bool {
	if p.left == 0 {
		p.next(name, 0)
		return false
	}
	out := kmsg.NewDescribeTopicPartitionsResponseTopic()
	out.Topic, out.IsInternal, out.AuthorizedOperations = &name, isInternalTopic(name), allTopicOperations
	if t == nil {
		out.ErrorCode = kerr.UnknownTopicOrPartition.Code
		if err := image.ValidateTopicName(name); err != nil {
			out.ErrorCode = kerror.CodeOf(err)
		}
		p.resp.Topics = append(p.resp.Topics, out)
		return true
	}
	out.TopicID = t.ID
	end := min(int64(first)+int64(p.left), int64(t.NumPartitions()))
	for index := first; int64(index) < end; index++ {
		out.Partitions = append(out.Partitions, p.partition(index, t.Partition(index)))
	}
	p.left -= len(out.Partitions)
	p.resp.Topics = append(p.resp.Topics, out)
	if end < int64(t.NumPartitions()) {
		p.next(name, int32(end))
		return false
	}
	return true
}

func (p *partitionPage) next(name string, partition int32) {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = name, partition
	p.resp.NextCursor = &c
}

func (p *partitionPage) partition(index int32, part *image.Partition) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	out := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	out.Partition, out.LeaderID, out.LeaderEpoch = index, part.Leader, part.LeaderEpoch
	out.Replicas, out.ISR = part.Replicas, part.ISR
	out.EligibleLeaderReplicas = append([]int32{}, part.ELR...)
	out.LastKnownELR = append([]int32{}, part.LastKnownELR...)
	out.OfflineReplicas = p.d.offline(p.r, p.img, part)
	if _, _, alive := p.d.reach(p.r, p.img.Broker(part.Leader)); !alive {
		out.LeaderID, out.ErrorCode = image.NoLeader, kerr.LeaderNotAvailable.Code
	}
	return out
}
