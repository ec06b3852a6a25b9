package handlers

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/wire"
)

// apiVersionsTable is what ApiVersions tells of the APIs; built once.
type apiVersionsTable struct {
	keys []kmsg.ApiVersionsResponseApiKey
}

func newAPIVersionsTable(table []api) *apiVersionsTable {
	t := &apiVersionsTable{}
	for _, a := range table {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = a.key.Int16(), a.min, a.max
		t.keys = append(t.keys, k)
	}
	slices.SortFunc(t.keys, func(a, b kmsg.ApiVersionsResponseApiKey) int { return cmp.Compare(a.ApiKey, b.ApiKey) })
	return t
}

// supportedFeatures are the features that this node can be raised to.
func supportedFeatures() []kmsg.ApiVersionsResponseSupportedFeature {
	list := make([]kmsg.ApiVersionsResponseSupportedFeature, 0, 8)
	for _, f := range image.SupportedFeatures() {
		list = append(list, kmsg.ApiVersionsResponseSupportedFeature{Name: f.Name, MinVersion: f.Min, MaxVersion: f.Max})
	}
	return list
}

// handleApiVersions, versions 0 to 5: what this broker serves. A version that isn't known is
// answered by package wire before it gets here.
//
//	3  client software name and version (KIP-511), features (KIP-584)
//	4  features may start at level 0 (KIP-1022)
//	5  cluster and node that the client believes to talk to (KIP-1242)
func handleApiVersions(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.ApiVersionsRequest)
	resp := kmsg.NewPtrApiVersionsResponse()
	img := d.Image()
	if code := checkApiVersions(req, img, d.NodeID); code != nil {
		resp.ErrorCode = code.Code
		r.Reply(resp)
		return
	}
	if r.Version >= 3 {
		r.Session.SetClientSoftware(req.ClientSoftwareName, req.ClientSoftwareVersion)
	}
	resp.ApiKeys = d.apiVersions.keys
	for _, f := range supportedFeatures() {
		// Clients of version 3 can't read a feature that starts at 0.
		if r.Version >= 4 || f.MinVersion > 0 {
			resp.SupportedFeatures = append(resp.SupportedFeatures, f)
		}
	}
	resp.FinalizedFeaturesEpoch = img.Offset()
	if img.Offset() >= 0 {
		resp.FinalizedFeatures = finalizedFeatures(img)
	}
	r.Reply(resp)
}

// finalizedFeatures are the levels in force, none above what is supported here: a cluster may
// have been raised to a protocol that this broker doesn't serve, and its clients must not try it.
func finalizedFeatures(img *image.Image) []kmsg.ApiVersionsResponseFinalizedFeature {
	var list []kmsg.ApiVersionsResponseFinalizedFeature
	for _, f := range img.Features() {
		if level := img.EffectiveFeatureLevel(f.Name); level > 0 {
			list = append(list, kmsg.ApiVersionsResponseFinalizedFeature{Name: f.Name, MinVersionLevel: level, MaxVersionLevel: level})
		}
	}
	return list
}

// checkApiVersions refuses a request that can't be meant for this broker.
func checkApiVersions(req *kmsg.ApiVersionsRequest, img *image.Image, nodeID int32) *kerr.Error {
	if req.Version >= 3 && (!validSoftware(req.ClientSoftwareName) || !validSoftware(req.ClientSoftwareVersion)) {
		return kerr.InvalidRequest
	}
	if req.Version < 5 || req.ClusterID == nil && req.NodeID == -1 {
		return nil
	}
	if req.ClusterID == nil || req.NodeID == -1 {
		return kerr.InvalidRequest
	}
	if *req.ClusterID != img.ClusterID() || req.NodeID != nodeID {
		return kerr.RebootstrapRequired
	}
	return nil
}

// validSoftware is the pattern of KIP-511: letters, digits, dashes and dots, the first and last
// character a letter or digit.
func validSoftware(s string) bool {
	for i := range len(s) {
		c := s[i]
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		inner := (c == '-' || c == '.') && i > 0 && i < len(s)-1
		if !alphanumeric && !inner {
			return false
		}
	}
	return s != ""
}
