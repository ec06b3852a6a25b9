package wire

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// decodeFactor is how much more than its frame a request's decoded form may take in memory. The
	// most that a sensible request needs is about 11 (DescribeConfigs of many resources with short
	// names); what kmsg can be made to allocate by counts alone is beyond 32.
	decodeFactor = 16
	// decodeFloor is what a decoded form may take whatever the size of its frame, in bytes.
	decodeFloor = 64 << 10
	// decodeCeiling is the most that a decoded form may take beside the bytes of its frame.
	decodeCeiling = 128 << 20
)

const (
	// produceFactor and produceCeiling bound Produce, which is nearly all records that aren't copied: its
	// topics and partitions take at most twice what they take on the wire.
	produceFactor  = 4
	produceCeiling = 16 << 20
)

// frameCost is what a frame of the given size is charged to the memory budget. Produce is charged
// its size; other requests what their decoded form may take.
func frameCost(key int16, size int) int64 {
	if key == keyProduce {
		return int64(size)
	}
	return min(int64(size)*decodeFactor, int64(size)+decodeCeiling)
}

// decodeLimit is the most that the decoded form of a body of the given size may take, in bytes,
// beside what it shares with the body.
func decodeLimit(key int16, size int) int64 {
	if key == keyProduce {
		return max(decodeFloor, min(int64(size)*produceFactor, produceCeiling))
	}
	return max(decodeFloor, min(int64(size)*decodeFactor, int64(size)+decodeCeiling))
}

// errBodyShort is of a body that ends before its fields do, or after; the walk over its shape finds it first.
var errBodyShort = errors.New("the request's fields don't fill its frame")

// decodeBody decodes a request's body, whose version must be one that can be served. The request's
// byte slices borrow body. The body's lengths and counts are checked before anything is allocated.
func decodeBody(key, version int16, body []byte) (kmsg.Request, error) {
	if err := checkSize(key, version, body); err != nil {
		return nil, err
	}
	req := kmsg.RequestForKey(key)
	if req == nil {
		return nil, fmt.Errorf("api key %d is unknown", key)
	}
	req.SetVersion(version)
	if err := req.ReadFrom(body); err != nil {
		return nil, err
	}
	return req, nil
}

// checkSize refuses a body whose lengths and counts aren't those of its bytes, or that would take too much memory.
func checkSize(key, version int16, body []byte) error {
	size, err := decodedSize(key, version, body)
	if err != nil {
		return err
	}
	if size > decodeLimit(key, len(body)) {
		return fmt.Errorf("its %d bytes would take %d bytes of memory", len(body), size)
	}
	return nil
}
