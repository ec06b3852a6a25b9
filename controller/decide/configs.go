package decide

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maxConfigValue is the longest value of a key, in bytes.
	maxConfigValue = 32767
	minInsync      = "min.insync.replicas"
	elrFeature     = image.EligibleLeaderReplicasVersion
)

// settings are the controller's settings with the dynamic ones of the image.
func (env *Env) settings() *config.Broker {
	return env.Settings.With(
		env.Image.Configs(image.ResourceBroker, strconv.Itoa(int(env.NodeID))),
		env.Image.Configs(image.ResourceBroker, ""))
}

// alterConfigs replaces all keys of each resource by those of the request.
func alterConfigs(env *Env, req *kmsg.AlterConfigsRequest) Decision {
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	a := newConfigAlterer(env)
	for i := range req.Resources {
		a.note(int8(req.Resources[i].ResourceType), req.Resources[i].ResourceName)
	}
	for i := range req.Resources {
		rr := &req.Resources[i]
		ops := make([]configOp, 0, len(rr.Configs))
		for _, c := range rr.Configs {
			ops = append(ops, configOp{op: kmsg.IncrementalAlterConfigOpSet, key: c.Name, value: c.Value})
		}
		out := kmsg.NewAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = rr.ResourceType, rr.ResourceName
		out.ErrorCode, out.ErrorMessage = codeAndMessage(a.alter(int8(rr.ResourceType), rr.ResourceName, ops, true))
		resp.Resources = append(resp.Resources, out)
	}
	return Decision{Records: a.result(req.ValidateOnly), Response: resp}
}

// incrementalAlterConfigs changes single keys of each resource.
func incrementalAlterConfigs(env *Env, req *kmsg.IncrementalAlterConfigsRequest) Decision {
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	a := newConfigAlterer(env)
	for i := range req.Resources {
		a.note(int8(req.Resources[i].ResourceType), req.Resources[i].ResourceName)
	}
	for i := range req.Resources {
		rr := &req.Resources[i]
		ops := make([]configOp, 0, len(rr.Configs))
		for _, c := range rr.Configs {
			ops = append(ops, configOp{op: c.Op, key: c.Name, value: c.Value})
		}
		out := kmsg.NewIncrementalAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = rr.ResourceType, rr.ResourceName
		out.ErrorCode, out.ErrorMessage = codeAndMessage(a.alter(int8(rr.ResourceType), rr.ResourceName, ops, false))
		resp.Resources = append(resp.Resources, out)
	}
	return Decision{Records: a.result(req.ValidateOnly), Response: resp}
}

// configOp is one key's change in a request.
type configOp struct {
	op    kmsg.IncrementalAlterConfigOp
	key   string
	value *string
}

// configAlterer decides on the resources of one request, each whole or not at all.
type configAlterer struct {
	env      *Env
	settings *config.Broker
	seen     map[image.Resource]int
	records  []metadata.Record
}

func newConfigAlterer(env *Env) *configAlterer {
	return &configAlterer{env: env, settings: env.settings(), seen: map[image.Resource]int{}}
}

func (a *configAlterer) note(kind int8, name string) {
	a.seen[image.Resource{Type: kind, Name: name}]++
}

func (a *configAlterer) result(validateOnly bool) []metadata.Record {
	if validateOnly {
		return nil
	}
	return append(a.records, a.clearELRs()...)
}

// clearELRs forgets the eligible leader replicas where the minimum of in-sync replicas changed: with a lower
// one the high watermark may pass what they have (KIP-966).
func (a *configAlterer) clearELRs() []metadata.Record {
	if a.env.Image.FeatureLevel(elrFeature) == 0 {
		return nil
	}
	var records []metadata.Record
	for _, record := range a.records {
		r, ok := record.(*metadata.ConfigRecord)
		switch {
		case !ok || r.Name != minInsync:
		case r.ResourceType == image.ResourceTopic:
			records = append(records, &metadata.ClearElrRecord{TopicName: r.ResourceName})
		default:
			records = append(records, &metadata.ClearElrRecord{})
		}
	}
	return records
}

// alter decides on one resource; replace drops the keys that ops don't name.
func (a *configAlterer) alter(kind int8, name string, ops []configOp, replace bool) error {
	res := image.Resource{Type: kind, Name: name}
	if a.seen[res] > 1 {
		return kerror.New(kerr.InvalidRequest, "Each resource must appear at most once.")
	}
	if err := checkOps(ops); err != nil {
		return err
	}
	if err := a.checkResource(res, ops); err != nil {
		return err
	}
	old := a.env.Image.Configs(kind, name)
	next, err := a.apply(res, old, ops, replace)
	if err != nil {
		return err
	}
	if err := a.checkMinInsync(res, old, next); err != nil {
		return err
	}
	if err := a.validate(res, next); err != nil {
		return err
	}
	a.record(res, old, next, ops)
	return nil
}

// checkOps refuses what makes no sense for any resource.
func checkOps(ops []configOp) error {
	keys := map[string]bool{}
	var null []string
	for _, o := range ops {
		if keys[o.key] {
			return kerror.New(kerr.InvalidRequest, "Error due to duplicate config keys")
		}
		keys[o.key] = true
		if o.value == nil && o.op != kmsg.IncrementalAlterConfigOpDelete {
			null = append(null, o.key)
		}
	}
	if len(null) > 0 {
		return kerror.New(kerr.InvalidRequest, "Null value not supported for : %s", strings.Join(null, ","))
	}
	return nil
}

// checkResource tells whether the resource can have configs.
func (a *configAlterer) checkResource(res image.Resource, ops []configOp) error {
	switch res.Type {
	case image.ResourceTopic:
		if res.Name == "" {
			return kerror.New(kerr.InvalidRequest, "Default topic resources are not allowed.")
		}
		if err := image.ValidateTopicName(res.Name); err != nil {
			return err
		}
		if a.env.Image.Topic(res.Name) == nil {
			return kerror.New(kerr.UnknownTopicOrPartition, "The topic '%s' does not exist.", res.Name)
		}
	case image.ResourceBroker:
		if res.Name != "" {
			if _, err := strconv.ParseInt(res.Name, 10, 32); err != nil {
				return kerror.New(kerr.InvalidRequest, "Node id must be an integer, but it is: %s", res.Name)
			}
		}
	case image.ResourceBrokerLogger:
		for _, o := range ops {
			return kerror.New(kerr.InvalidConfig, "Logger %s does not exist!", o.key)
		}
	case image.ResourceClientMetrics:
		if res.Name == "" {
			return kerror.New(kerr.InvalidRequest, "Subscription name can't be empty")
		}
	case image.ResourceGroup:
		if res.Name == "" {
			return kerror.New(kerr.InvalidRequest, "Default group resources are not allowed.")
		}
	default:
		return kerror.New(kerr.InvalidRequest, "Unknown resource type %d", res.Type)
	}
	return nil
}

// apply returns the keys of a resource after the changes.
func (a *configAlterer) apply(res image.Resource, old map[string]string, ops []configOp, replace bool) (map[string]string, error) {
	next := map[string]string{}
	if !replace {
		next = maps.Clone(old)
	}
	for _, o := range ops {
		switch o.op {
		case kmsg.IncrementalAlterConfigOpSet:
			next[o.key] = *o.value
		case kmsg.IncrementalAlterConfigOpDelete:
			delete(next, o.key)
		case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
			k := config.KeysOf(config.Resource(res.Type)).Lookup(o.key)
			if k == nil || k.Type != config.TypeList {
				return nil, kerror.New(kerr.InvalidConfig, "Can't %s to key %s because its type is not LIST.", opName(o.op), o.key)
			}
			next[o.key] = changeList(a.current(res, old, o.key), *o.value, o.op)
		default:
			return nil, kerr.UnknownServerError
		}
	}
	return next, checkValueSizes(next)
}

func checkValueSizes(values map[string]string) error {
	for _, v := range values {
		if len(v) > maxConfigValue {
			return kerror.New(kerr.InvalidConfig, "The configuration value cannot be added because it exceeds the maximum value size of %d bytes.", maxConfigValue)
		}
	}
	return nil
}

func opName(op kmsg.IncrementalAlterConfigOp) string {
	if op == kmsg.IncrementalAlterConfigOpAppend {
		return "APPEND"
	}
	return "SUBTRACT"
}

// current is the value that a list is changed from: the explicit one, else the one in force.
func (a *configAlterer) current(res image.Resource, old map[string]string, key string) string {
	if v, ok := old[key]; ok {
		return v
	}
	var rows []config.Row
	switch res.Type {
	case image.ResourceTopic:
		rows = a.settings.DescribeTopic(nil)
	case image.ResourceBroker:
		rows = a.settings.DescribeBroker()
	case image.ResourceGroup:
		rows = a.settings.DescribeGroup(nil)
	case image.ResourceClientMetrics:
		rows = a.settings.DescribeClientMetrics(nil)
	}
	for i := range rows {
		if rows[i].Name == key && rows[i].Value != nil {
			return *rows[i].Value
		}
	}
	return ""
}

// changeList adds to or takes from a comma-separated list, keeping its order.
func changeList(list, change string, op kmsg.IncrementalAlterConfigOp) string {
	parts := splitList(list)
	for _, p := range splitList(change) {
		i := slices.Index(parts, p)
		switch {
		case op == kmsg.IncrementalAlterConfigOpAppend && i < 0:
			parts = append(parts, p)
		case op == kmsg.IncrementalAlterConfigOpSubtract && i >= 0:
			parts = slices.Delete(parts, i, i+1)
		}
	}
	return strings.Join(parts, ",")
}

func splitList(s string) []string {
	var parts []string
	for p := range strings.SplitSeq(s, ",") {
		if p = strings.TrimSpace(p); p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// checkMinInsync keeps the minimum of in-sync replicas a matter of the cluster while eligible leader
// replicas are on (KIP-966).
func (a *configAlterer) checkMinInsync(res image.Resource, old, next map[string]string) error {
	if res.Type != image.ResourceBroker || a.env.Image.FeatureLevel(elrFeature) == 0 {
		return nil
	}
	before, was := old[minInsync]
	after, is := next[minInsync]
	switch {
	case res.Name == "" && was && !is:
		return kerror.New(kerr.InvalidConfig, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
	case res.Name != "" && (was != is || before != after):
		return kerror.New(kerr.InvalidConfig, "Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
	}
	return nil
}

// validate checks the resource's keys as they would be.
func (a *configAlterer) validate(res image.Resource, next map[string]string) error {
	switch res.Type {
	case image.ResourceTopic:
		return a.settings.ValidateTopic(next)
	case image.ResourceGroup:
		return a.settings.ValidateGroup(next)
	case image.ResourceClientMetrics:
		return config.ValidateClientMetrics(next)
	case image.ResourceBroker:
		// Another broker's static settings aren't known here; it checks the request before it sends it.
		if res.Name == "" || res.Name == strconv.Itoa(int(a.env.NodeID)) {
			return a.settings.ValidateBroker(next, res.Name == "")
		}
	}
	return nil
}

// record writes what changed, in the order of the request and then by key.
func (a *configAlterer) record(res image.Resource, old, next map[string]string, ops []configOp) {
	done := map[string]bool{}
	add := func(key string) {
		if done[key] {
			return
		}
		done[key] = true
		before, was := old[key]
		after, is := next[key]
		if was == is && before == after {
			return
		}
		r := &metadata.ConfigRecord{ResourceType: res.Type, ResourceName: res.Name, Name: key}
		if is {
			r.Value = &after
		}
		a.records = append(a.records, r)
	}
	for _, o := range ops {
		add(o.key)
	}
	for _, key := range slices.Sorted(maps.Keys(old)) {
		add(key)
	}
}
