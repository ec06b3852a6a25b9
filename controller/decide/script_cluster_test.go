package decide

import (
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// kafkaFeatures are the ranges that a node of Kafka 4.4.0 registers.
func kafkaFeatures() []kmsg.BrokerRegistrationRequestFeature {
	return []kmsg.BrokerRegistrationRequestFeature{
		{Name: image.EligibleLeaderReplicasVersion, MaxSupportedVersion: 1}, {Name: image.GroupVersion, MaxSupportedVersion: 1},
		{Name: image.KRaftVersion, MaxSupportedVersion: 1}, {Name: image.MetadataVersion, MinSupportedVersion: 7, MaxSupportedVersion: 33},
		{Name: image.ShareVersion, MaxSupportedVersion: 2}, {Name: image.StreamsVersion, MaxSupportedVersion: 1},
		{Name: image.TransactionVersion, MaxSupportedVersion: 2},
	}
}

func describePartition(p *image.Partition) string {
	out := fmt.Sprintf("replicas=%v isr=%v leader=%d epochs=%d/%d", p.Replicas, p.ISR, p.Leader, p.LeaderEpoch, p.PartitionEpoch)
	for _, l := range []struct {
		name string
		ids  []int32
	}{{"elr", p.ELR}, {"last", p.LastKnownELR}, {"adding", p.Adding}, {"removing", p.Removing}} {
		if len(l.ids) > 0 {
			out += fmt.Sprintf(" %s=%v", l.name, l.ids)
		}
	}
	if p.LeaderRecovery != image.LeaderRecovered {
		out += " recovering"
	}
	return out
}

// dirNames shows directory ids by their first two bytes: broker and number.
func dirNames(ids []image.ID) string {
	var names []string
	for _, id := range ids {
		names = append(names, fmt.Sprintf("%d.%d", id[0], id[1]))
	}
	return "[" + strings.Join(names, " ") + "]"
}

// dirs reads names as dirNames shows them, with commas between; a lone * is no directory.
func (s *script) dirs(list string) []image.ID {
	ids := []image.ID{}
	for w := range strings.SplitSeq(list, ",") {
		if a, b, ok := strings.Cut(w, "."); ok {
			ids = append(ids, image.ID{byte(s.number(a, 0)), byte(s.number(b, 0))})
		}
	}
	return ids
}

// cmdRegister: broker=id incarnation=n [cluster=id] [rack=r] [clean] [version=n] [dirs=1.1,1.2] [without=feature]
// [feature:level]; clean sends the epoch of the registration before; the directory is <broker>.1 unless said.
func (s *script) cmdRegister(_ *datadriven.TestData, in [][]string) {
	for _, words := range in {
		o := options(words)
		req := kmsg.NewPtrBrokerRegistrationRequest()
		req.Version = int16(s.number(o["version"], 4))
		req.BrokerID, req.IncarnationID, req.ClusterID = int32(s.number(o["broker"], 0)), image.ID{byte(s.number(o["incarnation"], 0))}, testCluster
		req.LogDirs = [][16]byte{{byte(req.BrokerID), 1}}
		if id, ok := o["cluster"]; ok {
			req.ClusterID = id
		}
		if rack, ok := o["rack"]; ok {
			req.Rack = &rack
		}
		if list, ok := o["dirs"]; ok {
			req.LogDirs = s.dirs(list)
		}
		if old := s.image.Broker(req.BrokerID); old != nil && hasWord(words, "clean") {
			req.PreviousBrokerEpoch = old.Epoch
		}
		req.IsMigratingZkBroker = hasWord(words, "zk")
		for _, f := range kafkaFeatures() {
			if level, ok := o["max:"+f.Name]; ok {
				f.MaxSupportedVersion = int16(s.number(level, 0))
			}
			if o["without"] != f.Name {
				req.Features = append(req.Features, f)
			}
		}
		s.decide(req, func(resp kmsg.Response) {
			r := resp.(*kmsg.BrokerRegistrationResponse)
			s.result("registration", r.ErrorCode, nil, fmt.Sprintf(" epoch=%d", r.BrokerEpoch))
		})
	}
}

func hasWord(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

// cmdHeartbeat: broker=id [epoch=n] [offset=n] [fence] [shutdown] [offline=dirs] [cordoned=dirs]; the epoch is
// the current one unless given, the offset the newest.
func (s *script) cmdHeartbeat(_ *datadriven.TestData, in [][]string) {
	for _, words := range in {
		o := options(words)
		req := kmsg.NewPtrBrokerHeartbeatRequest()
		req.BrokerID = int32(s.number(o["broker"], 0))
		if b := s.image.Broker(req.BrokerID); b != nil {
			req.BrokerEpoch = b.Epoch
		}
		req.BrokerEpoch = s.number(o["epoch"], req.BrokerEpoch)
		req.CurrentMetadataOffset = s.number(o["offset"], s.image.Offset())
		req.WantFence, req.WantShutdown = hasWord(words, "fence"), hasWord(words, "shutdown")
		if list, ok := o["offline"]; ok {
			req.OfflineLogDirs = s.dirs(list)
		}
		if list, ok := o["cordoned"]; ok {
			req.CordonedLogDirs = s.dirs(list)
		}
		s.decide(req, func(resp kmsg.Response) {
			r := resp.(*kmsg.BrokerHeartbeatResponse)
			s.result("heartbeat", r.ErrorCode, nil, fmt.Sprintf(" caughtUp=%t fenced=%t shutdown=%t", r.IsCaughtUp, r.IsFenced, r.ShouldShutdown))
		})
	}
}

// cmdWait lets time pass, as long as the argument says, and shows what is due meanwhile, with the time at which
// it was; with the argument asleep the controller looks at the end only.
func (s *script) cmdWait(d *datadriven.TestData, _ [][]string) {
	var text string
	d.ScanArgs(s.t, "for", &text)
	wait, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	start, end := s.now, s.now.Add(wait)
	if d.HasArg("asleep") {
		s.now = end
	}
	for range 1000 {
		due := NextDue(s.env(), s.live)
		if due.After(end) {
			s.now = end
			return
		}
		if due.After(s.now) {
			s.now = due
		}
		if decision := Tick(s.env(), s.live); len(decision.Records) > 0 {
			s.printf("after %s:\n", s.now.Sub(start).Round(time.Millisecond))
			s.apply(&decision)
		}
	}
	s.t.Fatal("something is always due")
}

// cmdTakeover is another controller taking over, which has not heard of any broker.
func (s *script) cmdTakeover(*datadriven.TestData, [][]string) {
	s.live = NewLiveness(s.image, s.settings, s.now)
}

// cmdDisconnect ends the connections of brokers: id.
func (s *script) cmdDisconnect(_ *datadriven.TestData, in [][]string) {
	for _, words := range in {
		id := int32(s.number(words[0], 0))
		s.live.Disconnected(id, s.image.Broker(id).Epoch, s.now)
	}
}

// cmdSuspect takes brokers for gone, as a new controller does with the former one's: id.
func (s *script) cmdSuspect(_ *datadriven.TestData, in [][]string) {
	for _, words := range in {
		s.live.Suspect(int32(s.number(words[0], 0)), s.now)
	}
}

// cmdControllers registers controllers: id [feature=max].
func (s *script) cmdControllers(_ *datadriven.TestData, in [][]string) {
	for _, words := range in {
		r := &metadata.RegisterControllerRecord{ControllerID: int32(s.number(words[0], 0))}
		for name, level := range options(words[1:]) {
			r.Features = append(r.Features, metadata.RegisterControllerRecordControllerFeature{Name: name, MaxSupportedVersion: int16(s.number(level, 0))})
		}
		next, _, err := s.image.Apply(1, []metadata.Record{r})
		if err != nil {
			s.t.Fatal(err)
		}
		s.image = next
	}
}

// cmdPartitions adds topics as they are: name replicas=ids [isr=ids] [elr=ids] [last=ids] [leader=id] [dirs=list]
// [adding=ids] [removing=ids] [recovering] [min=n].
func (s *script) cmdPartitions(_ *datadriven.TestData, in [][]string) {
	for _, words := range in {
		o := options(words[1:])
		id := image.ID{15: byte(100 + len(s.byAlias))}
		r := &metadata.PartitionRecord{TopicID: id, Replicas: s.brokerIDs(o["replicas"]), Leader: -1, ISR: s.brokerIDs(o["isr"]),
			EligibleLeaderReplicas: s.brokerIDs(o["elr"]), LastKnownELR: s.brokerIDs(o["last"]),
			AddingReplicas: s.brokerIDs(o["adding"]), RemovingReplicas: s.brokerIDs(o["removing"])}
		if _, ok := o["isr"]; !ok {
			r.ISR = r.Replicas
		}
		if len(r.ISR) > 0 {
			r.Leader = r.ISR[0]
		}
		r.Leader = int32(s.number(o["leader"], int64(r.Leader)))
		if list, ok := o["dirs"]; ok {
			r.Directories = s.dirs(list)
		} else {
			for _, b := range r.Replicas {
				r.Directories = append(r.Directories, image.ID{byte(b), 1})
			}
		}
		if hasWord(words, "recovering") {
			r.LeaderRecoveryState = image.LeaderRecovering
		}
		records := []metadata.Record{&metadata.TopicRecord{Name: words[0], TopicID: id}, r}
		if value, ok := o["min"]; ok {
			records = append(records, &metadata.ConfigRecord{ResourceType: image.ResourceTopic, ResourceName: words[0], Name: minInsync, Value: &value})
		}
		if hasWord(words, "unclean") {
			value := "true"
			records = append(records, &metadata.ConfigRecord{ResourceType: image.ResourceTopic, ResourceName: words[0], Name: uncleanElection, Value: &value})
		}
		d := Decision{Records: records}
		s.alias(id)
		out := s.out.String()
		s.apply(&d)
		s.out.Reset()
		s.out.WriteString(out)
	}
}

// cmdAlterPartition: topic partition isr=ids [epoch=n] [partition-epoch=n] [recovery=n] [member=epoch]; argument
// broker is who asks, its epoch and the partition's are the current ones unless said; v is the version. A
// member's epoch is the current one, or with member=id:epoch another.
func (s *script) cmdAlterPartition(d *datadriven.TestData, in [][]string) {
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version = 3
	broker, epoch := 0, int64(-1)
	d.ScanArgs(s.t, "broker", &broker)
	if d.HasArg("v") {
		v := 0
		d.ScanArgs(s.t, "v", &v)
		req.Version = int16(v)
	}
	if b := s.image.Broker(int32(broker)); b != nil {
		epoch = b.Epoch
	}
	if d.HasArg("epoch") {
		d.ScanArgs(s.t, "epoch", &epoch)
	}
	req.BrokerID, req.BrokerEpoch = int32(broker), epoch
	for _, words := range in {
		o := options(words[2:])
		rt := kmsg.NewAlterPartitionRequestTopic()
		p := kmsg.NewAlterPartitionRequestTopicPartition()
		p.Partition = int32(s.number(words[1], 0))
		if t := s.image.Topic(words[0]); t != nil {
			rt.TopicID = t.ID
			if now := t.Partition(p.Partition); now != nil {
				p.LeaderEpoch, p.PartitionEpoch = now.LeaderEpoch, now.PartitionEpoch
			}
		}
		p.LeaderEpoch = int32(s.number(o["epoch"], int64(p.LeaderEpoch)))
		p.PartitionEpoch = int32(s.number(o["partition-epoch"], int64(p.PartitionEpoch)))
		p.LeaderRecoveryState = int8(s.number(o["recovery"], 0))
		for _, id := range s.brokerIDs(o["isr"]) {
			member := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
			member.BrokerID = id
			if b := s.image.Broker(id); b != nil {
				member.BrokerEpoch = b.Epoch
			}
			if which, e, ok := strings.Cut(o["member"], ":"); ok && s.number(which, 0) == int64(id) {
				member.BrokerEpoch = s.number(e, 0)
			}
			p.NewEpochISR = append(p.NewEpochISR, member)
			p.NewISR = append(p.NewISR, id)
		}
		rt.Partitions = append(rt.Partitions, p)
		req.Topics = append(req.Topics, rt)
	}
	s.decide(req, func(resp kmsg.Response) {
		r := resp.(*kmsg.AlterPartitionResponse)
		s.result("request", r.ErrorCode, nil, "")
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				s.result(fmt.Sprintf("%s-%d", s.alias(t.TopidID), p.Partition), p.ErrorCode, nil,
					fmt.Sprintf(" isr=%v leader=%d epochs=%d/%d recovery=%d", p.ISR, p.LeaderID, p.LeaderEpoch, p.PartitionEpoch, p.LeaderRecoveryState))
			}
		}
	})
}

// cmdUpdateFeatures: feature level type; arguments validate, v=version, voter=id of one beside this node. Each line is one feature of one request.
func (s *script) cmdUpdateFeatures(d *datadriven.TestData, in [][]string) {
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.Version, req.ValidateOnly = 2, d.HasArg("validate")
	if d.HasArg("v") {
		v := 0
		d.ScanArgs(s.t, "v", &v)
		req.Version = int16(v)
	}
	if d.HasArg("voter") {
		id := 0
		d.ScanArgs(s.t, "voter", &id)
		s.voters = []QuorumReplica{{ID: int32(id)}}
	}
	for _, words := range in {
		u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		u.Feature, u.MaxVersionLevel, u.UpgradeType = words[0], int16(s.number(words[1], 0)), int8(s.number(words[2], 0))
		req.FeatureUpdates = append(req.FeatureUpdates, u)
	}
	s.decide(req, func(resp kmsg.Response) {
		r := resp.(*kmsg.UpdateFeaturesResponse)
		s.result("request", r.ErrorCode, r.ErrorMessage, "")
		for _, x := range r.Results {
			s.result(x.Feature, x.ErrorCode, x.ErrorMessage, "")
		}
	})
}
