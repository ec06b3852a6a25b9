package handlers

import (
	"slices"
	"strconv"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleDescribeConfigs answers DescribeConfigs, versions 1 to 4: sources and synonyms since 1, types
// and documentation since 3, groups since 4 (KIP-848).
func handleDescribeConfigs(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.DescribeConfigsRequest)
	resp := kmsg.NewPtrDescribeConfigsResponse()
	img := d.Image()
	for _, res := range req.Resources {
		out := kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName, out.ErrorMessage = res.ResourceType, res.ResourceName, kmsg.StringPtr("")
		rows, err := d.describeResource(img, config.Resource(res.ResourceType), res.ResourceName)
		if err != nil {
			out.ErrorCode = kerror.CodeOf(err)
			if m := kerror.MessageOf(err); m != nil {
				out.ErrorMessage = m
			}
		}
		for i := range rows {
			// Kafka takes an empty list of names for all of them, as it does null.
			if len(res.ConfigNames) == 0 || slices.Contains(res.ConfigNames, rows[i].Name) {
				out.Configs = append(out.Configs, describedConfig(&rows[i], req))
			}
		}
		resp.Resources = append(resp.Resources, out)
	}
	r.Reply(resp)
}

// describeResource lists the settings of one resource.
func (d *Deps) describeResource(img *image.Image, resource config.Resource, name string) ([]config.Row, error) {
	b := d.Configs.Broker()
	switch resource {
	case config.ResourceTopic:
		if err := image.ValidateTopicName(name); err != nil {
			return nil, err
		}
		if img.Topic(name) == nil {
			return nil, kerr.UnknownTopicOrPartition
		}
		return b.DescribeTopic(img.Configs(image.ResourceTopic, name)), nil
	case config.ResourceBroker:
		if name == "" {
			return b.DescribeDefaultBroker(), nil
		}
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil {
			return nil, kerror.New(kerr.InvalidRequest, "Broker id must be an integer, but it is: %s", name)
		}
		if int32(id) != d.NodeID {
			return nil, kerror.New(kerr.InvalidRequest, "Unexpected broker id, expected %d or empty string, but received %s", d.NodeID, name)
		}
		return b.DescribeBroker(), nil
	case config.ResourceBrokerLogger:
		if name == "" {
			return nil, kerror.New(kerr.InvalidRequest, "Broker id must not be empty")
		}
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil {
			return nil, kerror.New(kerr.InvalidRequest, "Broker id must be an integer, but it is: %s", name)
		}
		if int32(id) != d.NodeID {
			return nil, kerror.New(kerr.InvalidRequest, "Unexpected broker id, expected %d but received %s", d.NodeID, name)
		}
		return d.describeLoggers(), nil
	case config.ResourceClientMetrics:
		if name == "" {
			return nil, kerror.New(kerr.InvalidRequest, "Client metrics subscription name must not be empty")
		}
		return b.DescribeClientMetrics(img.Configs(image.ResourceClientMetrics, name)), nil
	case config.ResourceGroup:
		if name == "" {
			return nil, kerror.New(kerr.InvalidRequest, "Group name must not be empty")
		}
		return b.DescribeGroup(img.Configs(image.ResourceGroup, name)), nil
	}
	// The oracle's answer to a type that it doesn't know: the general text of its error code.
	return nil, kerror.New(kerr.InvalidRequest, "%s", "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. See the broker logs for more details.")
}

func describedConfig(row *config.Row, req *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResourceConfig {
	out := kmsg.NewDescribeConfigsResponseResourceConfig()
	out.Name, out.Value, out.ReadOnly, out.IsSensitive = row.Name, row.Value, row.ReadOnly, row.Sensitive
	out.IsDefault, out.Source, out.ConfigType = row.IsDefault(), kmsg.ConfigSource(row.Source), kmsg.ConfigType(row.Type)
	if text := config.Documentation(row.Name); text != "" && req.IncludeDocumentation {
		out.Documentation = &text
	}
	if req.IncludeSynonyms {
		for _, s := range row.Synonyms {
			o := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
			o.Name, o.Value, o.Source = s.Name, s.Value, kmsg.ConfigSource(s.Source)
			out.ConfigSynonyms = append(out.ConfigSynonyms, o)
		}
	}
	return out
}
