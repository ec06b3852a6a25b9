package server

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// recordingSlot is a request's place in a connection that nobody is connected to.
type recordingSlot struct{ reply *wire.Reply }

func (s *recordingSlot) Complete(r wire.Reply) { s.reply = &r }
func (s *recordingSlot) Proceed()              {}
func (s *recordingSlot) ReleaseFrame()         {}
func (s *recordingSlot) OnClose(func())        {}

type handlerFunc func(*wire.Request)

func (f handlerFunc) ServeRequest(r *wire.Request) { f(r) }

func request(body kmsg.Request) (*wire.Request, *recordingSlot) {
	slot := &recordingSlot{}
	return wire.NewRequest(wire.Header{Key: body.Key()}, body, &wire.Session{}, slot, time.Time{}), slot
}

// TestGateHoldsRequestsUntilReady shows that ApiVersions is answered early where it tells of no features, that everything else waits
// for the node, and that what waits when the node stops has its connection closed.
func TestGateHoldsRequestsUntilReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		early := handlerFunc(func(r *wire.Request) { r.Reply(kmsg.NewPtrApiVersionsResponse()) })
		ready := handlerFunc(func(r *wire.Request) { r.Reply(kmsg.NewPtrMetadataResponse()) })
		g := newGate(early)

		versions, slot := request(kmsg.NewPtrApiVersionsRequest())
		g.ServeRequest(versions)
		if slot.reply == nil || slot.reply.Body.Key() != kmsg.ApiVersions.Int16() {
			t.Fatalf("ApiVersions before the node is ready: %+v", slot.reply)
		}
		featured, featuredSlot := request(kmsg.NewPtrApiVersionsRequest())
		featured.Version = featuresFrom
		go g.ServeRequest(featured)
		metadata, slot := request(kmsg.NewPtrMetadataRequest())
		go g.ServeRequest(metadata)
		synctest.Wait()
		if slot.reply != nil || featuredSlot.reply != nil {
			t.Fatal("Metadata or the cluster's features were answered before the node was ready")
		}
		g.opens(ready)
		synctest.Wait()
		if slot.reply == nil || slot.reply.Body.Key() != kmsg.Metadata.Int16() {
			t.Fatalf("Metadata after the node is ready: %+v", slot.reply)
		}

		stopping := newGate(early)
		waiting, slot := request(kmsg.NewPtrMetadataRequest())
		go stopping.ServeRequest(waiting)
		synctest.Wait()
		stopping.close()
		stopping.close()
		synctest.Wait()
		if slot.reply == nil || slot.reply.CloseReason == nil {
			t.Fatalf("a request that waited for a node that stopped: %+v", slot.reply)
		}
	})
}
