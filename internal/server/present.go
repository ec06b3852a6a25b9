package server

import (
	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/controller/image"
)

// present passes images on from the one on that has this start's registration: what older ones say of this
// broker was about a former life. The subscriber sees the first as a change from nothing. (The replicas
// hold the same rule by themselves.)
func (s *Server) present(next controller.Subscriber) controller.Subscriber {
	passes := false
	return func(old, img *image.Image, delta *image.Delta) {
		if !passes {
			b := img.Broker(s.settings.Broker().NodeID)
			if b == nil || b.IncarnationID != s.incarnation {
				return
			}
			passes = true
			old = image.Empty()
			delta = image.Diff(old, img)
		}
		next(old, img, delta)
	}
}
