package decide

import (
	"slices"
	"strconv"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Upgrade types of UpdateFeatures (KIP-778).
const (
	typeUpgrade         int8 = 1
	typeSafeDowngrade   int8 = 2
	typeUnsafeDowngrade int8 = 3
)

// updateFeatures decides as FeatureControlManager.updateFeatures does: all of a request or nothing.
// Version 0 could say that a downgrade is allowed; the oracle doesn't read it, and neither does this.
//
//	1  upgrade types and validation only (KIP-778)
//	2  no results for each feature (KIP-1022)
func updateFeatures(env *Env, req *kmsg.UpdateFeaturesRequest) Decision {
	resp := req.ResponseKind().(*kmsg.UpdateFeaturesResponse)
	f := &featureUpdater{env: env, levels: map[string]int16{}}
	for _, x := range env.Image.Features() {
		f.levels[x.Name] = env.Image.EffectiveFeatureLevel(x.Name)
	}
	for _, u := range req.FeatureUpdates {
		f.levels[u.Feature] = u.MaxVersionLevel
	}
	for _, u := range req.FeatureUpdates {
		if err := f.update(u.Feature, u.MaxVersionLevel, u.UpgradeType); err != nil {
			message := "The update failed for all features since the following feature had an error: " + *kerror.MessageOf(err)
			resp.ErrorCode, resp.ErrorMessage = kerror.CodeOf(err), &message
			return Decision{Response: resp}
		}
	}
	if req.Version < 2 {
		none := "NONE" // the message of success, as the oracle sends it
		for _, u := range req.FeatureUpdates {
			r := kmsg.NewUpdateFeaturesResponseResult()
			r.Feature, r.ErrorMessage = u.Feature, &none
			resp.Results = append(resp.Results, r)
		}
	}
	if req.ValidateOnly {
		f.records = nil
	}
	return Decision{Records: f.records, Response: resp}
}

// featureUpdater decides on the features of one request.
type featureUpdater struct {
	env *Env
	// levels are those that there would be after the request.
	levels  map[string]int16
	records []metadata.Record
}

// update decides on one feature. The order of the checks is the oracle's.
func (f *featureUpdater) update(name string, level int16, kind int8) error {
	invalid := func(why string) error {
		return kerror.New(kerr.InvalidUpdateVersion, "Invalid update version %d for feature %s. %s", level, name, why)
	}
	if kind < typeUpgrade || kind > typeUnsafeDowngrade {
		return invalid("The controller does not support the given upgrade type.")
	}
	if level < 0 {
		return invalid("A feature version cannot be less than 0.")
	}
	if why := f.notSupported(name, level); why != "" {
		return invalid(why)
	}
	current := f.env.Image.EffectiveFeatureLevel(name)
	switch {
	case level < current && kind == typeUpgrade:
		return invalid("Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.")
	case level > current && kind != typeUpgrade:
		return invalid("Can't downgrade to a newer version.")
	}
	switch name {
	case image.MetadataVersion:
		return f.updateMetadata(current, level, kind)
	case image.KRaftVersion:
		if level < current {
			return invalid("Can't downgrade the version of this feature.")
		}
	default:
		if !isKnownFeature(name) {
			return invalid("Feature " + name + " not found.")
		}
	}
	if name == image.EligibleLeaderReplicasVersion {
		if level > 0 && f.levels[image.MetadataVersion] < metadata40IV1 {
			return invalid(name + " could not be set to " + strconv.Itoa(int(level)) + " because it depends on metadata.version=23 (4.0-IV1)")
		}
		f.prepareELR(current, level)
	}
	f.set(name, current, level)
	return nil
}

// metadata40IV1 is the first metadata version whose records have eligible leader replicas.
const metadata40IV1 = 23

// set writes the level. The cluster may have been bootstrapped above what this version supports; setting
// a feature to the level in force leaves that alone.
func (f *featureUpdater) set(name string, current, level int16) {
	if level != current {
		f.records = append(f.records, &metadata.FeatureLevelRecord{Name: name, FeatureLevel: level})
	}
}

func isKnownFeature(name string) bool {
	return slices.ContainsFunc(image.SupportedFeatures(), func(x image.FeatureRange) bool { return x.Name == name })
}

// updateMetadata refuses a lower version if the records changed in between: what they say would be lost.
func (f *featureUpdater) updateMetadata(current, level int16, kind int8) error {
	for _, v := range changingMetadataVersions() {
		if v <= level || v > current {
			continue
		}
		why := "Refusing to perform the requested downgrade because it might delete metadata information."
		if kind == typeUnsafeDowngrade {
			why = "Unsafe metadata downgrade is not supported in this version."
		}
		return kerror.New(kerr.InvalidUpdateVersion, "Unsupported metadata.version downgrade from %d to %d. %s", current, level, why)
	}
	f.set(image.MetadataVersion, current, level)
	return nil
}

// changingMetadataVersions are the versions that brought other records than the one before.
func changingMetadataVersions() []int16 {
	return []int16{7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33}
}

// notSupported tells which node doesn't support a level of a feature; empty if all do.
func (f *featureUpdater) notSupported(name string, level int16) string {
	m := f.env.Image
	local := image.FeatureRange{Name: name}
	for _, x := range image.SupportedFeatures() {
		if x.Name == name {
			local = x
		}
	}
	if why := outside("Local controller "+strconv.Itoa(int(f.env.NodeID)), local, level); why != "" {
		return why
	}
	for _, b := range m.Brokers() {
		if why := outside("Broker "+strconv.Itoa(int(b.ID)), b.Feature(name), level); why != "" {
			return why
		}
	}
	for _, c := range m.Controllers() {
		if c.ID == f.env.NodeID {
			continue
		}
		if why := outside("Controller "+strconv.Itoa(int(c.ID)), c.Feature(name), level); why != "" {
			return why
		}
	}
	for _, v := range f.env.Quorum.Voters {
		if v.ID != f.env.NodeID && m.Controller(v.ID) == nil {
			return "controller " + strconv.Itoa(int(v.ID)) + " has not registered, and may not support this feature"
		}
	}
	return ""
}

func outside(who string, r image.FeatureRange, level int16) string {
	switch {
	case level >= r.Min && level <= r.Max:
		return ""
	case r.Max == 0:
		return who + " does not support this feature."
	case r.Min == r.Max:
		return who + " only supports versions " + strconv.Itoa(int(r.Min))
	}
	return who + " only supports versions " + strconv.Itoa(int(r.Min)) + "-" + strconv.Itoa(int(r.Max))
}

// prepareELR makes the minimum of in-sync replicas a matter of the cluster when eligible leader replicas
// are switched on, and forgets them when they are switched off: nobody keeps them up to date then.
func (f *featureUpdater) prepareELR(current, level int16) {
	m := f.env.Image
	switch {
	case level > current:
		if _, ok := m.Config(image.ResourceBroker, "").Get(minInsync); !ok {
			value := strconv.FormatInt(f.env.Settings.Int(minInsync), 10)
			f.records = append(f.records, &metadata.ConfigRecord{ResourceType: image.ResourceBroker, Name: minInsync, Value: &value})
		}
		for res, c := range m.ConfigResources() {
			if _, ok := c.Get(minInsync); ok && res.Type == image.ResourceBroker && res.Name != "" {
				f.records = append(f.records, &metadata.ConfigRecord{ResourceType: res.Type, ResourceName: res.Name, Name: minInsync})
			}
		}
	case level < current:
		f.records = append(f.records, &metadata.ClearElrRecord{})
	}
}
