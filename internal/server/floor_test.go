package server

import (
	"fmt"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestFreeSpaceFloor has records refused below log.dir.min.free.bytes, as the file says it and as it is changed while
// the node runs.
func TestFreeSpaceFloor(t *testing.T) {
	n := newNode()
	n.fs.(*vfs.Mem).SetCapacity(1 << 20)
	s, err := n.start(t, map[string]string{"log.dir.min.free.bytes": "2097152"})
	if err != nil {
		t.Fatal(err)
	}
	defer closeServer(t, s)
	c := dial(t, s)
	createTopic(t, c, "t", 1)
	set := func(bytes int64) {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		res := kmsg.NewIncrementalAlterConfigsRequestResource()
		res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeBroker, "1"
		value := fmt.Sprint(bytes)
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Name, config.Value = "log.dir.min.free.bytes", &value
		res.Configs = append(res.Configs, config)
		req.Resources = append(req.Resources, res)
		if r := ask[*kmsg.IncrementalAlterConfigsResponse](t, c, req, 1).Resources[0]; r.ErrorCode != 0 {
			t.Fatalf("setting the floor to %d: %v", bytes, kerr.ErrorForCode(r.ErrorCode))
		}
	}
	if code := produceOne(t, c, "t", 0); code != kerr.KafkaStorageError.Code {
		t.Errorf("below the floor of the file: error %d", code)
	}
	set(0)
	if code := produceOne(t, c, "t", 0); code != 0 {
		t.Errorf("without a floor: error %d", code)
	}
	set(4 << 20)
	if code := produceOne(t, c, "t", 0); code != kerr.KafkaStorageError.Code {
		t.Errorf("below the floor that was set: error %d", code)
	}
}
