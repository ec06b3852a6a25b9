package decide

import "github.com/twmb/franz-go/pkg/kmsg"

func updateFeatures(_ *Env, req *kmsg.UpdateFeaturesRequest) Decision {
	return Decision{Response: req.ResponseKind()}
}
