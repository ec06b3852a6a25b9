package decide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// dirRig is two brokers with directories 11 and 12, 21 and 22, and a topic whose partitions lie as the test says.
type dirRig struct {
	t   *testing.T
	img *image.Image
}

func dirID(n byte) image.ID { return image.ID{0: 0xdd, 15: n} }

var dirTopic = image.ID{0: 0xaa}

func newDirRig(t *testing.T) *dirRig {
	r := &dirRig{t: t, img: image.Empty()}
	for id := range int32(2) {
		n := byte(10 * (id + 1))
		r.apply(&metadata.RegisterBrokerRecord{BrokerID: id + 1, BrokerEpoch: int64(id + 1), LogDirs: []image.ID{dirID(n + 1), dirID(n + 2)}})
	}
	r.apply(&metadata.TopicRecord{Name: "t", TopicID: dirTopic})
	for i, p := range []struct {
		replicas []int32
		dirs     []image.ID
	}{
		{[]int32{1}, []image.ID{image.UnassignedDir}},
		{[]int32{1}, []image.ID{dirID(11)}},
		{[]int32{1, 2}, []image.ID{dirID(11), dirID(21)}},
		{[]int32{2, 1}, []image.ID{dirID(22), dirID(12)}},
	} {
		r.apply(&metadata.PartitionRecord{PartitionID: int32(i), TopicID: dirTopic, Replicas: p.replicas, ISR: p.replicas, Leader: p.replicas[0], Directories: p.dirs})
	}
	return r
}

func (r *dirRig) apply(records ...metadata.Record) {
	r.t.Helper()
	next, _, err := r.img.Apply(1, records)
	if err == nil {
		err = next.Check()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.img = next
}

func (r *dirRig) decide(req kmsg.Request) kmsg.Response {
	r.t.Helper()
	settings, _, err := config.Load(config.ZeroConfig())
	if err != nil {
		r.t.Fatal(err)
	}
	d, err := Decide(&Env{Image: r.img, Settings: settings}, req)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(d.Records) > 0 {
		r.apply(d.Records...)
	}
	return d.Response
}

// assign says that a partition of a broker lies in a directory, and returns the error code of the request or of the partition.
func (r *dirRig) assign(broker int32, epoch int64, dir, topic image.ID, partition int32) int16 {
	req := kmsg.NewPtrAssignReplicasToDirsRequest()
	req.BrokerID, req.BrokerEpoch = broker, epoch
	d := kmsg.NewAssignReplicasToDirsRequestDirectory()
	d.ID = dir
	t := kmsg.NewAssignReplicasToDirsRequestDirectoryTopic()
	p := kmsg.NewAssignReplicasToDirsRequestDirectoryTopicPartition()
	t.TopicID, p.Partition = topic, partition
	t.Partitions = append(t.Partitions, p)
	d.Topics = append(d.Topics, t)
	req.Directories = append(req.Directories, d)
	resp := r.decide(req).(*kmsg.AssignReplicasToDirsResponse)
	if resp.ErrorCode != 0 {
		return resp.ErrorCode
	}
	return resp.Directories[0].Topics[0].Partitions[0].ErrorCode
}

// partitions shows leader, ISR, the last bytes of the directories and the leader epoch of each partition.
func (r *dirRig) partitions() string {
	var out []string
	for _, p := range r.img.Topic("t").Partitions() {
		var dirs []byte
		for _, d := range p.Directories {
			dirs = append(dirs, d[15])
		}
		out = append(out, fmt.Sprintf("%d%v%v/%d", p.Leader, p.ISR, dirs, p.LeaderEpoch))
	}
	return strings.Join(out, " ")
}

func (r *dirRig) want(when, want string) {
	r.t.Helper()
	if got := r.partitions(); got != want {
		r.t.Errorf("%s:\n got %s\nwant %s", when, got, want)
	}
}

// TestAssignReplicasToDirs: what the metadata says changes, and nothing else; errors are Kafka's.
func TestAssignReplicasToDirs(t *testing.T) {
	r := newDirRig(t)
	for _, tc := range []struct {
		broker    int32
		epoch     int64
		topic     image.ID
		partition int32
		want      *kerr.Error
	}{
		{3, 1, dirTopic, 0, kerr.BrokerIDNotRegistered}, {1, 7, dirTopic, 0, kerr.StaleBrokerEpoch}, {1, 1, image.ID{1}, 0, kerr.UnknownTopicID},
		{1, 1, dirTopic, 9, kerr.UnknownTopicOrPartition}, {2, 2, dirTopic, 0, kerr.NotLeaderForPartition},
	} {
		if code := r.assign(tc.broker, tc.epoch, dirID(11), tc.topic, tc.partition); code != tc.want.Code {
			t.Errorf("%+v: error %d", tc, code)
		}
	}
	r.want("after errors", "1[1][1]/0 1[1][11]/0 1[1 2][11 21]/0 2[2 1][22 12]/0")
	offset := r.img.Offset()
	if code := r.assign(1, 1, dirID(11), dirTopic, 1); code != 0 || r.img.Offset() != offset {
		t.Errorf("where it is already: error %d, %d records", code, r.img.Offset()-offset)
	}
	r.assign(1, 1, dirID(12), dirTopic, 0)
	r.assign(1, 1, dirID(12), dirTopic, 2)
	r.want("after two", "1[1][12]/0 1[1][11]/0 1[1 2][12 21]/0 2[2 1][22 12]/0")
	r.assign(1, 1, dirID(99), dirTopic, 0)
	r.assign(1, 1, dirID(99), dirTopic, 2)
	r.want("in a directory that is offline", "-1[1][99]/1 1[1][11]/0 2[2][99 21]/1 2[2 1][22 12]/0")
	r.assign(1, 1, dirID(11), dirTopic, 0)
	r.want("and back", "1[1][11]/2 1[1][11]/0 2[2][99 21]/1 2[2 1][22 12]/0")
}

// TestDirectoriesOffline: what lies in a directory that a heartbeat tells of leads nothing any more, also not after
// the broker registered again without it; with it all is led again.
func TestDirectoriesOffline(t *testing.T) {
	r := newDirRig(t)
	beat := func(epoch int64, offline ...image.ID) {
		req := kmsg.NewPtrBrokerHeartbeatRequest()
		req.BrokerID, req.BrokerEpoch, req.CurrentMetadataOffset, req.OfflineLogDirs = 1, epoch, r.img.Offset(), offline
		if resp := r.decide(req).(*kmsg.BrokerHeartbeatResponse); resp.ErrorCode != 0 || resp.IsFenced {
			t.Errorf("heartbeat: %+v", resp)
		}
	}
	register := func(incarnation byte, dirs ...image.ID) int64 {
		req := kmsg.NewPtrBrokerRegistrationRequest()
		req.BrokerID, req.ClusterID, req.IncarnationID, req.LogDirs = 1, r.img.ClusterID(), image.ID{incarnation}, dirs
		req.Features = []kmsg.BrokerRegistrationRequestFeature{{Name: image.MetadataVersion, MaxSupportedVersion: 33}}
		return r.decide(req).(*kmsg.BrokerRegistrationResponse).BrokerEpoch
	}
	beat(1, dirID(11))
	const lost = "1[1][1]/0 -1[1][11]/1 2[2][11 21]/1 2[2 1][22 12]/0"
	r.want("after the failure", lost)
	if dirs := r.img.Broker(1).LogDirs; len(dirs) != 1 || dirs[0] != dirID(12) {
		t.Errorf("directories left: %x", dirs)
	}
	offset := r.img.Offset()
	beat(1, dirID(11))
	if r.img.Offset() != offset {
		t.Error("the same failure was recorded twice")
	}
	beat(register(1, dirID(12)), dirID(11))
	r.want("without the directory", "1[1][1]/2 -1[1][11]/1 2[2][11 21]/1 2[2][22 12]/0")
	beat(register(2, dirID(11), dirID(12)))
	r.want("with it", "1[1][1]/4 1[1][11]/2 2[2][11 21]/1 2[2][22 12]/0")
}
