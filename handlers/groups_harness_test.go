package handlers

import (
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/coordinator/group"
	"github.com/ottla/ottla/coordinator/group/classic"
	"github.com/ottla/ottla/coordinator/service"
	"github.com/ottla/ottla/coordinator/shard"
	"github.com/ottla/ottla/coordinator/shard/shardtest"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/log/batch"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupsBroker is a broker with a real group coordinator, whose log is in memory.
type groupsBroker struct {
	*broker
	offsetsLog *shardtest.Log
	groups     *service.Groups
}

type groupsOptions struct {
	newMemberID func(prefix string) string
	clock       clock.Clock
	// delay is the initial rebalance delay.
	delay time.Duration
	// notLed leaves the offsets topic without a leader here.
	notLed bool
}

func newGroupsBroker(t testing.TB, o groupsOptions) *groupsBroker {
	t.Helper()
	b := &groupsBroker{broker: newBroker(t, nil), offsetsLog: shardtest.NewLog(0)}
	n := 0
	if o.newMemberID == nil {
		o.newMemberID = func(prefix string) string { n++; return fmt.Sprintf("%s-%d", prefix, n) }
	}
	if o.clock == nil {
		o.clock = clock.System{}
	}
	b.create(service.Topic, 1)
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	b.groups = service.New(service.Config{
		NodeID: testNode, Partitions: 1, Logger: logger, Image: func() *image.Image { return b.img },
		Group: group.Config{
			Classic: classic.Config{MinSessionTimeout: 6 * time.Second, MaxSessionTimeout: 30 * time.Minute, MaxSize: 100,
				InitialRebalanceDelay: o.delay, NewMemberID: o.newMemberID},
			OffsetMetadataMaxBytes: 4096, OffsetsRetention: 7 * 24 * time.Hour, OffsetsRetentionCheckInterval: 10 * time.Minute,
		},
		Shard: shard.Config{Topic: service.Topic, Clock: o.clock, Logger: logger, Codecs: batch.NewCodecs(), WriteTimeout: 5 * time.Second,
			MailboxSize: 1000, MaxBatchBytes: 1 << 20, LoadBufferBytes: 1 << 20, MaxDecompressedBytes: 1 << 20, ConcurrentLoads: 1},
		OpenLog: func(int32, int32) (shard.Log, error) { return b.offsetsLog, nil },
	})
	t.Cleanup(b.groups.Close)
	b.h.deps.Groups = b.groups
	if !o.notLed {
		if err := b.groups.BecomeLeader(0, 0); err != nil {
			t.Fatal(err)
		}
		b.waitLoaded()
	}
	return b
}

// createWithID makes a topic with an id that is known elsewhere.
func (b *groupsBroker) createWithID(name string, id [16]byte, partitions int) {
	records := []metadata.Record{&metadata.TopicRecord{Name: name, TopicID: id}}
	for i := range partitions {
		records = append(records, &metadata.PartitionRecord{TopicID: id, PartitionID: int32(i), Replicas: []int32{testNode}, ISR: []int32{testNode},
			Leader: testNode, Directories: make([]image.ID, 1)})
	}
	b.apply(records...)
}

// waitLoaded returns when the coordinator has read its log.
func (b *groupsBroker) waitLoaded() {
	b.t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; runtime.Gosched() {
		if ask[*kmsg.ListGroupsResponse](b.broker, kmsg.NewPtrListGroupsRequest()).ErrorCode == 0 {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatal("the coordinator does not load")
		}
	}
}
