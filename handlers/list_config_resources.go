package handlers

import (
	"slices"
	"strconv"

	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleListConfigResources answers ListConfigResources, version 0, which lists client metrics
// subscriptions only, and 1, which lists any type (KIP-1142). Topics and brokers are listed whether or
// not something is set for them; the other types are listed where something is.
func handleListConfigResources(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.ListConfigResourcesRequest)
	resp := kmsg.NewPtrListConfigResourcesResponse()
	known := []config.Resource{
		config.ResourceTopic, config.ResourceBroker, config.ResourceBrokerLogger, config.ResourceClientMetrics, config.ResourceGroup,
	}
	wanted := known
	switch {
	case r.Version == 0:
		wanted = []config.Resource{config.ResourceClientMetrics}
	case len(req.ResourceTypes) > 0:
		wanted = nil
		for _, t := range req.ResourceTypes {
			if !slices.Contains(known, config.Resource(t)) {
				resp.ErrorCode = kerr.UnsupportedVersion.Code
				r.Reply(resp)
				return
			}
			wanted = append(wanted, config.Resource(t))
		}
	}
	img := d.Image()
	add := func(t config.Resource, name string) {
		out := kmsg.NewListConfigResourcesResponseConfigResource()
		out.Name, out.Type = name, int8(t)
		resp.ConfigResources = append(resp.ConfigResources, out)
	}
	for _, t := range known {
		if !slices.Contains(wanted, t) {
			continue
		}
		switch t {
		case config.ResourceTopic:
			for topic := range img.Topics() {
				add(t, topic.Name)
			}
		case config.ResourceBroker, config.ResourceBrokerLogger:
			for _, b := range img.Brokers() {
				add(t, strconv.Itoa(int(b.ID)))
			}
		default:
			for res := range img.ConfigResources() {
				if res.Type == int8(t) && res.Name != "" {
					add(t, res.Name)
				}
			}
		}
	}
	r.Reply(resp)
}
