package handlers

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/wire"
)

// The expectations of this file were read off Kafka 4.4.0 with the same requests.

// TestApiVersions asks with software names and versions that are and aren't accepted, and checks
// features and keys.
func TestApiVersions(t *testing.T) {
	b := newBroker(t, nil)
	get := func(version int16, name, software string, change func(*kmsg.ApiVersionsRequest)) *kmsg.ApiVersionsResponse {
		r := kmsg.NewPtrApiVersionsRequest()
		r.Version, r.ClientSoftwareName, r.ClientSoftwareVersion = version, name, software
		if change != nil {
			change(r)
		}
		return ask[*kmsg.ApiVersionsResponse](b, r)
	}
	for _, tc := range []struct {
		name, software string
		version, code  int16
	}{
		{"", "", 0, 0}, {"", "", 2, 0}, {"a", "1", 3, 0}, {"a.b-c", "1.2-x", 4, 0}, {"a", "1", 5, 0},
		{"", "1", 3, 42}, {"a", "", 3, 42}, {"a b", "1", 4, 42}, {"-a", "1", 4, 42}, {"a-", "1", 4, 42}, {"a", "1 2", 4, 42}, {"ä", "1", 4, 42},
	} {
		resp := get(tc.version, tc.name, tc.software, nil)
		if resp.ErrorCode != tc.code || (len(resp.ApiKeys) == 0) != (tc.code != 0) {
			t.Errorf("%q %q v%d: error %d with %d keys, want %d", tc.name, tc.software, tc.version, resp.ErrorCode, len(resp.ApiKeys), tc.code)
		}
		if tc.code != 0 && resp.FinalizedFeaturesEpoch != -1 {
			t.Errorf("%q %q: an error with features", tc.name, tc.software)
		}
	}
	if s := b.session.ClientSoftware(); s.Name != "a" || s.Version != "1" {
		t.Errorf("the session remembers %+v", s)
	}
	cluster, empty := "wrong", ""
	for _, tc := range []struct {
		cluster *string
		node    int32
		code    *kerr.Error
	}{
		{nil, -1, nil}, {&cluster, -1, kerr.InvalidRequest}, {nil, 7, kerr.InvalidRequest}, {&cluster, 1, kerr.RebootstrapRequired},
		{&empty, 7, kerr.RebootstrapRequired}, {&empty, 1, nil},
	} {
		resp := get(5, "a", "1", func(r *kmsg.ApiVersionsRequest) { r.ClusterID, r.NodeID = tc.cluster, tc.node })
		if (tc.code == nil) != (resp.ErrorCode == 0) || tc.code != nil && resp.ErrorCode != tc.code.Code {
			t.Errorf("cluster %q node %d: error %d, want %v", str(tc.cluster), tc.node, resp.ErrorCode, tc.code)
		}
	}

	resp := get(4, "a", "1", nil)
	keys := map[int16]kmsg.ApiVersionsResponseApiKey{}
	for i, k := range resp.ApiKeys {
		keys[k.ApiKey] = k
		if i > 0 && k.ApiKey <= resp.ApiKeys[i-1].ApiKey {
			t.Errorf("key %d after %d", k.ApiKey, resp.ApiKeys[i-1].ApiKey)
		}
		if known, ok := wire.LookupAPI(k.ApiKey); !ok || k.MaxVersion != known.Max || k.MinVersion != wire.AdvertisedMin(k.ApiKey) {
			t.Errorf("key %d: %d to %d is told, Kafka says %+v", k.ApiKey, k.MinVersion, k.MaxVersion, known)
		}
	}
	for _, unserved := range []kmsg.Key{kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.EndTxn, kmsg.TxnOffsetCommit, kmsg.WriteTxnMarkers,
		kmsg.ConsumerGroupHeartbeat, kmsg.ShareFetch} {
		if _, ok := keys[unserved.Int16()]; ok {
			t.Errorf("key %d is told but not served", unserved)
		}
	}
	for _, f := range resp.SupportedFeatures {
		switch f.Name {
		case "group.version", "transaction.version", "share.version", "streams.version":
			if f.MaxVersion != 0 {
				t.Errorf("%s reaches level %d", f.Name, f.MaxVersion)
			}
		}
	}
	for i, name := range []string{"metadata.version", "group.version", "transaction.version", "eligible.leader.replicas.version", "unheard.of"} {
		b.apply(&metadata.FeatureLevelRecord{Name: name, FeatureLevel: []int16{33, 1, 2, 1, 7}[i]})
	}
	if f := get(4, "a", "1", nil).FinalizedFeatures; len(f) != 2 || f[0].Name != "eligible.leader.replicas.version" || f[0].MaxVersionLevel != 1 ||
		f[1].Name != "metadata.version" || f[1].MinVersionLevel != 33 {
		t.Errorf("finalized features %+v", f)
	}
	if resp := get(3, "a", "1", nil); len(resp.SupportedFeatures) != 1 || resp.SupportedFeatures[0].Name != "metadata.version" {
		t.Errorf("version 3 features: %+v", resp.SupportedFeatures)
	}
}

// TestDispatch wants unserved keys and versions to close the connection, and a bug in a handler to
// close it too.
func TestDispatch(t *testing.T) {
	b := newBroker(t, nil)
	for _, tc := range []struct {
		key     kmsg.Key
		version int16
		want    bool
	}{{kmsg.Produce, 2, false}, {kmsg.Produce, 3, true}, {kmsg.Produce, 13, true}, {kmsg.Produce, 14, false}, {kmsg.Fetch, 3, false},
		{kmsg.EndTxn, 1, false}, {kmsg.Key(900), 0, false}, {kmsg.Key(-1), 0, false}} {
		if got := b.h.Supports("PLAINTEXT", tc.key.Int16(), tc.version); got != tc.want {
			t.Errorf("Supports(%d, %d) = %t", tc.key, tc.version, got)
		}
	}
	old := produceRequest(2, 1, "t", [16]byte{}, oneRecord("v").bytes())
	if p := b.send(old); !p.isDone() || p.reply.CloseReason == nil {
		t.Errorf("Produce 2: %+v", p.reply)
	}
	b.h.rows[kmsg.Fetch].handle = func(*Deps, *wire.Request) { panic("bug") }
	if p := b.send(fetchRequest(12, "t", [16]byte{}, 0, 0)); !p.isDone() || !errors.Is(p.reply.CloseReason, errBug) {
		t.Errorf("a panic: %+v", p.reply)
	}
	for _, s := range b.h.Stats() {
		if s.Key == kmsg.Fetch.Int16() && (s.Panics != 1 || s.Requests != 1 || s.Name != "Fetch") {
			t.Errorf("counters %+v", s)
		}
	}
}

// TestInitProducerID draws ids across blocks, and what is refused.
func TestInitProducerID(t *testing.T) {
	b := newBroker(t, nil)
	get := func(version int16, change func(*kmsg.InitProducerIDRequest)) *kmsg.InitProducerIDResponse {
		r := kmsg.NewPtrInitProducerIDRequest()
		r.Version, r.ProducerID, r.ProducerEpoch = version, -1, -1
		if change != nil {
			change(r)
		}
		return ask[*kmsg.InitProducerIDResponse](b, r)
	}
	for want := range int64(7) {
		if resp := get(int16(want%6), nil); resp.ErrorCode != 0 || resp.ProducerID != want || resp.ProducerEpoch != 0 {
			t.Errorf("id %d: %+v", want, resp)
		}
	}
	if b.controller.calls != 3 {
		t.Errorf("%d blocks for 7 ids of blocks of 3", b.controller.calls)
	}
	if resp := get(5, func(r *kmsg.InitProducerIDRequest) { r.ProducerID, r.ProducerEpoch = 5, 3 }); resp.ErrorCode != 0 || resp.ProducerID != 7 {
		t.Errorf("a producer that goes on: %+v", resp)
	}
	name, empty := "tx", ""
	for _, tc := range []struct {
		what   string
		change func(*kmsg.InitProducerIDRequest)
		code   *kerr.Error
	}{
		{"id without epoch", func(r *kmsg.InitProducerIDRequest) { r.ProducerID = 5 }, kerr.InvalidRequest},
		{"epoch without id", func(r *kmsg.InitProducerIDRequest) { r.ProducerEpoch = 3 }, kerr.InvalidRequest},
		{"empty transactional id", func(r *kmsg.InitProducerIDRequest) { r.TransactionalID = &empty }, kerr.InvalidRequest},
		{"transactional id", func(r *kmsg.InitProducerIDRequest) { r.TransactionalID = &name }, kerr.TransactionalIDAuthorizationFailed},
	} {
		if resp := get(5, tc.change); resp.ErrorCode != tc.code.Code || resp.ProducerID != -1 || resp.ProducerEpoch != -1 {
			t.Errorf("%s: %+v", tc.what, resp)
		}
	}
	get(0, nil)
	b.controller.code = kerr.StaleBrokerEpoch.Code
	if resp := get(0, nil); resp.ErrorCode != kerr.CoordinatorLoadInProgress.Code {
		t.Errorf("a controller that refuses: %+v", resp)
	}
}

// TestListOffsets holds the answers for special timestamps in each version, times, and errors.
func TestListOffsets(t *testing.T) {
	b := newBroker(t, nil)
	b.create("t", 2)
	for i := range 5 {
		x := oneRecord("v")
		x.timestamp = int64(1000 + 10*i)
		ask[*kmsg.ProduceResponse](b, produceRequest(9, -1, "t", [16]byte{}, x.bytes()))
	}
	get := func(version int16, partition int32, timestamp int64, change func(*kmsg.ListOffsetsRequest)) kmsg.ListOffsetsResponseTopicPartition {
		r := kmsg.NewPtrListOffsetsRequest()
		r.Version, r.ReplicaID = version, -1
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = "t"
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = partition, timestamp
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		if change != nil {
			change(r)
		}
		return ask[*kmsg.ListOffsetsResponse](b, r).Topics[0].Partitions[0]
	}
	since := map[int64]int16{-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11, -7: 99}
	offsets := map[int64]int64{-1: 5, -2: 0, -3: 4, -4: 0, -5: -1, -6: -1}
	for version := int16(1); version <= 11; version++ {
		for timestamp, from := range since {
			p := get(version, 0, timestamp, nil)
			if version < from {
				if p.ErrorCode != kerr.UnsupportedVersion.Code || p.Offset != -1 {
					t.Errorf("version %d timestamp %d: %+v", version, timestamp, p)
				}
				continue
			}
			if p.ErrorCode != 0 || p.Offset != offsets[timestamp] {
				t.Errorf("version %d timestamp %d: %+v, want offset %d", version, timestamp, p, offsets[timestamp])
			}
		}
	}
	epoch := func(r *kmsg.ListOffsetsRequest, e int32) { r.Topics[0].Partitions[0].CurrentLeaderEpoch = e }
	for _, tc := range []struct {
		name      string
		partition int32
		timestamp int64
		change    func(*kmsg.ListOffsetsRequest)
		want      kmsg.ListOffsetsResponseTopicPartition
	}{
		{"between two", 0, 1015, nil, kmsg.ListOffsetsResponseTopicPartition{Timestamp: 1020, Offset: 2}},
		{"before all", 0, 0, nil, kmsg.ListOffsetsResponseTopicPartition{Timestamp: 1000, Offset: 0}},
		{"after all", 0, 1 << 50, nil, kmsg.ListOffsetsResponseTopicPartition{Timestamp: -1, Offset: -1, LeaderEpoch: -1}},
		{"largest", 0, -3, nil, kmsg.ListOffsetsResponseTopicPartition{Timestamp: 1040, Offset: 4}},
		{"empty, latest", 1, -1, nil, kmsg.ListOffsetsResponseTopicPartition{Timestamp: -1, Offset: 0}},
		{"empty, earliest", 1, -2, nil, kmsg.ListOffsetsResponseTopicPartition{Timestamp: -1, Offset: 0}},
		{"empty, largest", 1, -3, nil, kmsg.ListOffsetsResponseTopicPartition{Timestamp: -1, Offset: -1, LeaderEpoch: -1}},
		{"unknown partition", 9, -1, nil, kmsg.ListOffsetsResponseTopicPartition{ErrorCode: 3, Timestamp: -1, Offset: -1, LeaderEpoch: -1}},
		{"fenced", 0, -1, func(r *kmsg.ListOffsetsRequest) { epoch(r, -5) }, kmsg.ListOffsetsResponseTopicPartition{ErrorCode: 74, Timestamp: -1, Offset: -1, LeaderEpoch: -1}},
		{"future epoch", 0, -1, func(r *kmsg.ListOffsetsRequest) { epoch(r, 5) }, kmsg.ListOffsetsResponseTopicPartition{ErrorCode: 75, Timestamp: -1, Offset: -1, LeaderEpoch: -1}},
		{"isolation 7", 0, -1, func(r *kmsg.ListOffsetsRequest) { r.IsolationLevel = 7 }, kmsg.ListOffsetsResponseTopicPartition{ErrorCode: -1, Timestamp: -1, Offset: -1, LeaderEpoch: -1}},
	} {
		got := get(7, tc.partition, tc.timestamp, tc.change)
		if got.ErrorCode != tc.want.ErrorCode || got.Offset != tc.want.Offset || got.Timestamp != tc.want.Timestamp || got.LeaderEpoch != tc.want.LeaderEpoch {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}

	r := kmsg.NewPtrListOffsetsRequest()
	r.Version = 7
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = "t"
	for _, partition := range []int32{0, 1, 0} {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = partition, -1
		topic.Partitions = append(topic.Partitions, p)
	}
	r.Topics = append(r.Topics, topic)
	resp := ask[*kmsg.ListOffsetsResponse](b, r)
	if p := resp.Topics[0].Partitions; len(p) != 2 || p[0].ErrorCode != 42 || p[1].ErrorCode != 0 || p[1].Offset != 0 {
		t.Errorf("duplicates: %+v", p)
	}
}

// TestDeleteRecords moves the start of a partition, and what is refused.
func TestDeleteRecords(t *testing.T) {
	b := newBroker(t, nil)
	b.create("t", 1)
	b.create("compacted", 1, "cleanup.policy", "compact")
	b.create("__consumer_offsets", 1)
	b.mustProduce("t", 0, "a", "b", "c")
	for _, tc := range []struct {
		topic     string
		partition int32
		offset    int64
		low       int64
		code      int16
	}{
		{"t", 0, 2, 2, 0}, {"t", 0, 1, 2, 0}, {"t", 0, 100, -1, 1}, {"t", 0, -2, -1, 1}, {"t", 9, 0, -1, 3}, {"none", 0, 0, -1, 3},
		{"__consumer_offsets", 0, 0, -1, 17}, {"compacted", 0, -1, -1, 44}, {"t", 0, -1, 3, 0},
	} {
		r := kmsg.NewPtrDeleteRecordsRequest()
		r.Version = 2
		topic := kmsg.NewDeleteRecordsRequestTopic()
		topic.Topic = tc.topic
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Partition, p.Offset = tc.partition, tc.offset
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		got := ask[*kmsg.DeleteRecordsResponse](b, r).Topics[0].Partitions[0]
		if got.LowWatermark != tc.low || got.ErrorCode != tc.code {
			t.Errorf("%s-%d to %d: %+v, want %d, error %d", tc.topic, tc.partition, tc.offset, got, tc.low, tc.code)
		}
	}
}

// TestDeleteRecordsTwice names a partition twice: the last one counts and one answer comes.
func TestDeleteRecordsTwice(t *testing.T) {
	b := newBroker(t, nil)
	b.create("t", 1)
	b.mustProduce("t", 0, "a", "b", "c")
	r := kmsg.NewPtrDeleteRecordsRequest()
	r.Version = 2
	for _, offsets := range [][]int64{{3, 1}, {}, {2}} {
		topic := kmsg.NewDeleteRecordsRequestTopic()
		topic.Topic = "t"
		for _, o := range offsets {
			p := kmsg.NewDeleteRecordsRequestTopicPartition()
			p.Offset = o
			topic.Partitions = append(topic.Partitions, p)
		}
		r.Topics = append(r.Topics, topic)
	}
	empty := kmsg.NewDeleteRecordsRequestTopic()
	empty.Topic = "empty"
	r.Topics = append(r.Topics, empty)
	resp := ask[*kmsg.DeleteRecordsResponse](b, r)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].LowWatermark != 2 {
		t.Errorf("got %+v, want one answer, low watermark 2", resp.Topics)
	}
}

// TestOffsetForLeaderEpoch asks for the ends of epochs.
func TestOffsetForLeaderEpoch(t *testing.T) {
	b := newBroker(t, nil)
	b.create("t", 2)
	b.mustProduce("t", 0, "a", "b")
	for _, tc := range []struct {
		partition, current, epoch int32
		wantEpoch                 int32
		end                       int64
		code                      int16
	}{{0, -1, 0, 0, 2, 0}, {0, -1, 5, -1, -1, 0}, {0, -1, -1, -1, -1, 0}, {0, -1, -2, -2, 0, 0}, {0, 3, 0, -1, -1, 75}, {9, -1, 0, -1, -1, 3}, {1, -1, 0, 0, 0, 0}} {
		r := kmsg.NewPtrOffsetForLeaderEpochRequest()
		r.Version, r.ReplicaID = 4, -1
		topic := kmsg.NewOffsetForLeaderEpochRequestTopic()
		topic.Topic = "t"
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = tc.partition, tc.current, tc.epoch
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		got := ask[*kmsg.OffsetForLeaderEpochResponse](b, r).Topics[0].Partitions[0]
		if got.ErrorCode != tc.code || got.LeaderEpoch != tc.wantEpoch || got.EndOffset != tc.end {
			t.Errorf("%+v: %+v", tc, got)
		}
	}
}

// TestDescribeProducers lists a producer, and what is unknown.
func TestDescribeProducers(t *testing.T) {
	b := newBroker(t, nil)
	b.create("t", 1)
	x := testBatch{producerID: 7700, producerEpoch: 2, timestamp: 12345, values: []string{"v"}}
	ask[*kmsg.ProduceResponse](b, produceRequest(9, -1, "t", [16]byte{}, x.bytes()))
	get := func(name string, partition int32) kmsg.DescribeProducersResponseTopicPartition {
		r := kmsg.NewPtrDescribeProducersRequest()
		topic := kmsg.NewDescribeProducersRequestTopic()
		topic.Topic, topic.Partitions = name, []int32{partition}
		r.Topics = append(r.Topics, topic)
		return ask[*kmsg.DescribeProducersResponse](b, r).Topics[0].Partitions[0]
	}
	p := get("t", 0)
	if p.ErrorCode != 0 || len(p.ActiveProducers) != 1 {
		t.Fatalf("got %+v", p)
	}
	a := p.ActiveProducers[0]
	if a.ProducerID != 7700 || a.ProducerEpoch != 2 || a.LastSequence != 0 || a.LastTimestamp != 12345 || a.CoordinatorEpoch != -1 || a.CurrentTxnStartOffset != -1 {
		t.Errorf("got %+v", a)
	}
	if p := get("t", 9); p.ErrorCode != 3 || p.ErrorMessage != nil {
		t.Errorf("unknown partition: %+v", p)
	}
	if p := get("none", 0); p.ErrorCode != 3 || str(p.ErrorMessage) != "This server does not host this topic-partition." {
		t.Errorf("unknown topic: %+v", p)
	}
	if p := get("a b", 0); p.ErrorCode != 17 ||
		str(p.ErrorMessage) != "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'" {
		t.Errorf("illegal name: %+v", p)
	}
}

// TestDescribeLogDirs asks for all, some and no partitions.
func TestDescribeLogDirs(t *testing.T) {
	b := newBroker(t, nil)
	b.create("a", 2)
	b.create("b", 1)
	b.mustProduce("a", 1, "v")
	get := func(version int16, topics []kmsg.DescribeLogDirsRequestTopic) kmsg.DescribeLogDirsResponseDir {
		r := kmsg.NewPtrDescribeLogDirsRequest()
		r.Version, r.Topics = version, topics
		resp := ask[*kmsg.DescribeLogDirsResponse](b, r)
		if resp.ErrorCode != 0 || len(resp.Dirs) != 1 || resp.Dirs[0].Dir != "/data" || resp.Dirs[0].ErrorCode != 0 {
			t.Fatalf("got %+v", resp)
		}
		return resp.Dirs[0]
	}
	for version := int16(1); version <= 5; version++ {
		dir := get(version, nil)
		if len(dir.Topics) != 2 || len(dir.Topics[0].Partitions) != 2 || dir.Topics[0].Partitions[1].Size != 69 {
			t.Errorf("version %d: %+v", version, dir)
		}
		if (version >= 4) != (dir.TotalBytes != -1) || (version >= 4) != (dir.UsableBytes != -1) || dir.IsCordoned {
			t.Errorf("version %d: room %d, %d", version, dir.TotalBytes, dir.UsableBytes)
		}
	}
	if dir := get(4, []kmsg.DescribeLogDirsRequestTopic{}); len(dir.Topics) != 0 {
		t.Errorf("no topics: %+v", dir)
	}
	some := kmsg.NewDescribeLogDirsRequestTopic()
	some.Topic, some.Partitions = "a", []int32{1, 9}
	if dir := get(4, []kmsg.DescribeLogDirsRequestTopic{some}); len(dir.Topics) != 1 || len(dir.Topics[0].Partitions) != 1 || dir.Topics[0].Partitions[0].Partition != 1 {
		t.Errorf("one partition: %+v", dir)
	}
}
