package hostile

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	frames = flag.Int64("frames", environmentFrames(20_000), "hostile frames to send")
	seed   = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the random choices")
)

// environmentFrames is OTTLA_HOSTILE_FRAMES.
func environmentFrames(otherwise int64) int64 {
	n, err := strconv.ParseInt(os.Getenv("OTTLA_HOSTILE_FRAMES"), 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

const (
	attackers = 8
	// maxPeakBytes is the most memory that the broker may have had resident under attack.
	maxPeakBytes = 200 << 20
)

// TestFrames sends random and mutated frames of every API and version, from many connections at once.
func TestFrames(t *testing.T) {
	t.Logf("-frames %d -seed %d", *frames, *seed)
	b := startBroker(t, "")
	client := good(t, b)
	topics := []string{"hostile-0", "hostile-1", "hostile-2"}
	ids := [][16]byte{{}}
	var apis []served
	admin(t, b, func(ctx context.Context, client *kgo.Client) (err error) {
		for _, topic := range topics {
			if err := createTopic(ctx, client, topic, 2); err != nil {
				return err
			}
		}
		resp, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
		if err != nil {
			return err
		}
		for _, topic := range resp.Topics {
			if topic.Topic != nil && *topic.Topic != goodTopic {
				ids = append(ids, topic.TopicID)
			}
		}
		apis, err = servedBy(ctx, client)
		return err
	})
	baseline := usage(t, b)
	t.Logf("%d APIs; before: %d MiB, %d descriptors, %d sockets", len(apis), baseline.ResidentBytes>>20, baseline.Descriptors, baseline.Sockets)

	var counts attackCounts
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := make([]error, attackers)
	for i := range attackers {
		r := rand.New(rand.NewPCG(*seed, uint64(i)))
		a := &attacker{
			address: b.Address, rand: r, source: net.IPv4(127, 0, 1, byte(1+i)), counts: &counts,
			legal: &legal{rand: r, apis: apis, topics: topics, ids: ids},
		}
		running.Go(func() {
			if errs[i] = a.run(ctx, *frames); errs[i] != nil {
				cancel()
			}
		})
	}
	start := time.Now()
	running.Wait()
	t.Logf("%s in %s", &counts, time.Since(start).Round(time.Second))
	for i, err := range errs {
		if err != nil && t.Context().Err() == nil {
			t.Error(fmt.Errorf("attacker %d: %w", i, err))
		}
	}
	await(t, "the broker closed the attackers' connections", func() bool { return usage(t, b).Sockets <= baseline.Sockets })
	u := usage(t, b)
	t.Logf("after: %d MiB (peak %d), %d descriptors, %d sockets", u.ResidentBytes>>20, u.PeakBytes>>20, u.Descriptors, u.Sockets)
	if u.PeakBytes > maxPeakBytes {
		t.Errorf("the broker took %d MiB, more than %d", u.PeakBytes>>20, maxPeakBytes>>20)
	}
	client.check(t)
}
