package handlers

import (
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// autoCreateTimeoutMs bounds the creation of topics that a Metadata request named.
const autoCreateTimeoutMs = 5000

// handleMetadata answers Metadata, versions 0 to 13:
//
//	0  no topics stands for all; replicas on dead brokers are left out
//	1  null stands for all topics, an empty list for none; controller, racks, internal flag
//	2  cluster id
//	4  the client may forbid creation
//	5  offline replicas (KIP-112)
//	6  a leader without the client's listener is LISTENER_NOT_FOUND
//	7  leader epoch (KIP-320)
//	8  authorized operations (KIP-430); those of the cluster until 10
//	10 topic ids in answers (KIP-516); 12 also in requests
//	13 a top-level error (KIP-1102)
//
// Topics that exist come first, in the order of the request, then those that don't. A topic that is
// to be created is unknown in this answer, as in Kafka; it is there when the client asks again.
func handleMetadata(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.MetadataRequest)
	if code := refusedTopics(req); code != 0 {
		r.Reply(refuseMetadata(req, code))
		return
	}
	img := d.Image()
	resp := kmsg.NewPtrMetadataResponse()
	for _, b := range img.Brokers() {
		if host, port, ok := d.reach(r, b); ok {
			n := kmsg.NewMetadataResponseBroker()
			n.NodeID, n.Host, n.Port, n.Rack = b.ID, host, port, b.Rack
			resp.Brokers = append(resp.Brokers, n)
		}
	}
	if cluster := img.ClusterID(); cluster != "" {
		resp.ClusterID = &cluster
	}
	resp.ControllerID = d.controllerFor(r, img)
	if r.Version >= 8 && r.Version <= 10 && req.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = allClusterOperations
	}
	m := metadataBuilder{d: d, r: r, img: img, operations: r.Version >= 8 && req.IncludeTopicAuthorizedOperations}
	switch {
	case req.Topics == nil || r.Version == 0 && len(req.Topics) == 0:
		for t := range img.Topics() {
			m.found(t)
		}
	case namesIDs(req):
		m.byID(req)
	default:
		m.byName(req)
	}
	resp.Topics = append(m.topics, m.missing...)
	r.Reply(resp)
	if allowed := r.Version < 4 || req.AllowAutoTopicCreation; allowed && d.Configs.Broker().Topics.AutoCreate {
		d.autoCreate(r, img, m.unknown)
	}
}

// refusedTopics is the error of a request whose topics aren't named as its version wants it, else 0.
// Versions 10 and 11 have a field for the id, but may name topics by their names only. From 12 on a
// topic without name and id is only passed over where another one is named by its id.
func refusedTopics(req *kmsg.MetadataRequest) int16 {
	version := req.GetVersion()
	if version < 10 || version >= 12 && namesIDs(req) {
		return 0
	}
	for _, t := range req.Topics {
		switch {
		case version < 12 && (t.Topic == nil || t.TopicID != [16]byte{}):
			return kerr.InvalidRequest.Code
		case t.Topic == nil:
			return kerr.UnknownServerError.Code
		}
	}
	return 0
}

// refuseMetadata is Kafka's answer to a request that it can't take: an error for each topic, and nothing
// about the cluster.
func refuseMetadata(req *kmsg.MetadataRequest, code int16) *kmsg.MetadataResponse {
	resp := kmsg.NewPtrMetadataResponse()
	resp.ErrorCode = code
	for _, t := range req.Topics {
		name := ""
		if t.Topic != nil {
			name = *t.Topic
		}
		out := kmsg.NewMetadataResponseTopic()
		out.Topic, out.TopicID, out.ErrorCode = &name, t.TopicID, code
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// namesIDs tells whether topics are named by id; names in the same request are then passed over.
func namesIDs(req *kmsg.MetadataRequest) bool {
	for _, t := range req.Topics {
		if t.TopicID != [16]byte{} {
			return true
		}
	}
	return false
}

// metadataBuilder collects the topics of one answer.
type metadataBuilder struct {
	d   *Deps
	r   *wire.Request
	img *image.Image
	// operations asks for the bits of what the client may do.
	operations bool

	topics, missing []kmsg.MetadataResponseTopic
	// unknown are the legal names of topics that don't exist.
	unknown []string
}

func (m *metadataBuilder) byName(req *kmsg.MetadataRequest) {
	seen := make(map[string]bool, len(req.Topics))
	for _, t := range req.Topics {
		name := ""
		if t.Topic != nil {
			name = *t.Topic
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		if topic := m.img.Topic(name); topic != nil {
			m.found(topic)
			continue
		}
		out := kmsg.NewMetadataResponseTopic()
		out.Topic, out.IsInternal = &name, isInternalTopic(name)
		if m.operations {
			out.AuthorizedOperations = allTopicOperations
		}
		if err := image.ValidateTopicName(name); err != nil {
			out.ErrorCode = kerror.CodeOf(err)
		} else {
			out.ErrorCode = kerr.UnknownTopicOrPartition.Code
			m.unknown = append(m.unknown, name)
		}
		m.missing = append(m.missing, out)
	}
}

func (m *metadataBuilder) byID(req *kmsg.MetadataRequest) {
	seen := make(map[image.ID]bool, len(req.Topics))
	for _, t := range req.Topics {
		if t.TopicID == (image.ID{}) || seen[t.TopicID] {
			continue
		}
		seen[t.TopicID] = true
		if topic := m.img.TopicByID(t.TopicID); topic != nil {
			m.found(topic)
			continue
		}
		out := kmsg.NewMetadataResponseTopic()
		out.TopicID, out.ErrorCode = t.TopicID, kerr.UnknownTopicID.Code
		m.missing = append(m.missing, out)
	}
}

// found adds a topic that exists.
func (m *metadataBuilder) found(t *image.Topic) {
	name := t.Name
	out := kmsg.NewMetadataResponseTopic()
	out.Topic, out.TopicID, out.IsInternal = &name, t.ID, isInternalTopic(name)
	if m.operations {
		out.AuthorizedOperations = allTopicOperations
	}
	out.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, t.NumPartitions())
	for index, p := range t.Partitions() {
		out.Partitions = append(out.Partitions, m.partition(index, p))
	}
	m.topics = append(m.topics, out)
}

func (m *metadataBuilder) partition(index int32, p *image.Partition) kmsg.MetadataResponseTopicPartition {
	out := kmsg.NewMetadataResponseTopicPartition()
	out.Partition, out.Leader, out.LeaderEpoch = index, p.Leader, p.LeaderEpoch
	out.Replicas, out.ISR = p.Replicas, p.ISR
	out.OfflineReplicas = m.d.offline(m.r, m.img, p)
	lost := false
	if m.r.Version == 0 {
		out.Replicas, out.ISR = m.d.online(m.r, m.img, p.Replicas), m.d.online(m.r, m.img, p.ISR)
		lost = len(out.Replicas) < len(p.Replicas) || len(out.ISR) < len(p.ISR)
	}
	leader := m.img.Broker(p.Leader)
	_, _, alive := m.d.reach(m.r, leader)
	switch {
	case alive && lost:
		out.ErrorCode = kerr.ReplicaNotAvailable.Code
	case alive:
	case leader != nil && !leader.Fenced && m.r.Version >= 6:
		out.Leader, out.ErrorCode = image.NoLeader, kerr.ListenerNotFound.Code
	default:
		out.Leader, out.ErrorCode = image.NoLeader, kerr.LeaderNotAvailable.Code
	}
	return out
}

// autoCreate creates topics that a client asked for. The request is already answered; its connection
// waits, so that the topics are there when the same client asks again.
func (d *Deps) autoCreate(r *wire.Request, img *image.Image, names []string) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(req.MaxVersion())
	req.TimeoutMillis = autoCreateTimeoutMs
	for _, name := range names {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
		switch {
		case name == config.OffsetsTopic:
			d.offsetsTopic(&t, img)
		case isInternalTopic(name):
			continue
		}
		req.Topics = append(req.Topics, t)
	}
	if len(req.Topics) == 0 {
		return
	}
	resp, err := d.askController(r, req, autoCreateTimeoutMs)
	if err != nil {
		d.Logger.Warn("can't create topics that a client asked for", "topics", names, "error", err)
		return
	}
	// Topics that come back after their deletion puzzle people: the log tells who wanted them.
	clientID := ""
	if r.ClientID != nil {
		clientID = *r.ClientID
	}
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if t.ErrorCode == 0 {
			d.Logger.Info("created a topic that a client asked for", "topic", t.Topic, "partitions", t.NumPartitions,
				"client", r.Session.ClientAddr, "client_id", clientID, "software", r.Session.ClientSoftware().Name)
		}
	}
}

// offsetsTopic fills in the settings of __consumer_offsets.
func (d *Deps) offsetsTopic(t *kmsg.CreateTopicsRequestTopic, img *image.Image) {
	b := d.Configs.Broker()
	t.NumPartitions, t.ReplicationFactor = b.Offsets.TopicPartitions, config.ClampReplicas(b.Offsets.TopicReplicationFactor, img.LiveBrokers())
	for _, s := range b.OffsetsTopicSettings() {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = s.Name, &s.Value
		t.Configs = append(t.Configs, c)
	}
}
