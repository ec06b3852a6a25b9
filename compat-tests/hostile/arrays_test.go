package hostile

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestHostileCounts claims, at each place of a small request of every API in its oldest and newest version, an array of as many
// elements as bytes can follow, which are the smallest elements that there are: where the place is an array's, the request may be
// legal, and takes many times its size once it is decoded.
func TestHostileCounts(t *testing.T) {
	t.Logf("-seed %d", *seed)
	b := startBroker(t, "")
	client := good(t, b)
	var apis []served
	admin(t, b, func(ctx context.Context, client *kgo.Client) (err error) {
		apis, err = servedBy(ctx, client)
		return err
	})
	before := usage(t, b)
	frames := make(chan []byte, attackers)
	var counts attackCounts
	var running sync.WaitGroup
	errs := make([]error, attackers)
	for i := range attackers {
		a := &attacker{address: b.Address, source: net.IPv4(127, 0, 1, byte(1+i)), counts: &counts}
		running.Go(func() {
			for f := range frames {
				if errs[i] == nil { // Else the rest is only taken.
					errs[i] = a.once(t.Context(), f)
				}
			}
		})
	}
	l := &legal{rand: rand.New(rand.NewPCG(*seed, 0))}
	for _, api := range apis {
		for _, version := range [...]int16{api.min, api.max} {
			req := kmsg.RequestForKey(api.key)
			req.SetVersion(version)
			frame := kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)
			for at := frameHead; at <= len(frame); at++ {
				for _, filler := range [...]byte{0, 1} {
					frames <- l.swollenAt(append([]byte(nil), frame...), at, req.IsFlexible(), filler)
				}
			}
		}
	}
	close(frames)
	running.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("attacker %d: %v", i, err)
		}
	}
	await(t, "the broker closed the attackers' connections", func() bool { return usage(t, b).Sockets <= before.Sockets })
	u := usage(t, b)
	t.Logf("%s; %d MiB (peak %d)", &counts, u.ResidentBytes>>20, u.PeakBytes>>20)
	if u.PeakBytes > maxPeakBytes {
		t.Errorf("the broker took %d MiB, more than %d", u.PeakBytes>>20, maxPeakBytes>>20)
	}
	client.check(t)
}
