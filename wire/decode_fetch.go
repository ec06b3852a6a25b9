package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// Versions that change a Fetch request.
const (
	fetchLogStart     = 5
	fetchSessions     = 7
	fetchLeaderEpoch  = 9
	fetchRack         = 11
	fetchFlexible     = 12
	fetchTopicIDs     = 13
	fetchReplicaState = 15
)

// Tagged fields of a Fetch request.
const (
	fetchTagClusterID     = 0
	fetchTagReplicaState  = 1
	fetchTagDirectoryID   = 0 // of a partition
	fetchTagHighWatermark = 1 // of a partition
)

// readFetch decodes a Fetch request (version 4 and later, set in req) as readProduce does.
func readFetch(req *kmsg.FetchRequest, body []byte) bool {
	r := bodyReader{src: body, flexible: req.Version >= fetchFlexible}
	version, last := req.Version, *req
	req.Default()
	req.SessionID, req.Rack = 0, ""
	if version < fetchReplicaState {
		req.ReplicaID = r.int32()
	}
	req.MaxWaitMillis = r.int32()
	req.MinBytes = r.int32()
	req.MaxBytes = r.int32()
	req.IsolationLevel = r.int8()
	if version >= fetchSessions {
		req.SessionID = r.int32()
		req.SessionEpoch = r.int32()
	}
	req.Topics = resize(req.Topics, r.count())
	for i := range req.Topics {
		readFetchTopic(&r, &req.Topics[i], version)
	}
	req.ForgottenTopics = req.ForgottenTopics[:0]
	if version >= fetchSessions {
		req.ForgottenTopics = resize(req.ForgottenTopics, r.count())
		for i := range req.ForgottenTopics {
			t := &req.ForgottenTopics[i]
			t.Topic, t.TopicID = readFetchTopicName(&r, t.Topic, version)
			t.Partitions = resize(t.Partitions, r.count())
			for j := range t.Partitions {
				t.Partitions[j] = r.int32()
			}
			r.skipTags()
		}
	}
	if version >= fetchRack {
		req.Rack = r.string(last.Rack)
	}
	r.tags(func(tag int, f *bodyReader) {
		switch tag {
		case fetchTagClusterID:
			req.ClusterID = f.nullableString(last.ClusterID)
		case fetchTagReplicaState:
			req.ReplicaState.ID, req.ReplicaState.Epoch = f.int32(), f.int64()
			f.skipTags()
		}
	})
	return !r.short && len(r.src) == 0
}

func readFetchTopicName(r *bodyReader, last string, version int16) (string, [16]byte) {
	if version >= fetchTopicIDs {
		return "", r.uuid()
	}
	return r.string(last), [16]byte{}
}

func readFetchTopic(r *bodyReader, t *kmsg.FetchRequestTopic, version int16) {
	t.Topic, t.TopicID = readFetchTopicName(r, t.Topic, version)
	t.Partitions = resize(t.Partitions, r.count())
	for j := range t.Partitions {
		p := &t.Partitions[j]
		*p = kmsg.FetchRequestTopicPartition{}
		p.Default()
		p.Partition = r.int32()
		if version >= fetchLeaderEpoch {
			p.CurrentLeaderEpoch = r.int32()
		}
		p.FetchOffset = r.int64()
		if version >= fetchFlexible {
			p.LastFetchedEpoch = r.int32()
		}
		if version >= fetchLogStart {
			p.LogStartOffset = r.int64()
		}
		p.PartitionMaxBytes = r.int32()
		r.tags(func(tag int, f *bodyReader) {
			switch tag {
			case fetchTagDirectoryID:
				p.ReplicaDirectoryID = f.uuid()
			case fetchTagHighWatermark:
				p.HighWatermark = f.int64()
			}
		})
	}
	r.skipTags()
}
