package wire

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fill sets the fields of a request to random values: arrays of up to 3 elements, short strings.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && f.Name != "Version" && f.Name != "UnknownTags" {
				fill(r, v.Field(i), depth+1)
			}
		}
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		fill(r, p.Elem(), depth+1)
		v.Set(p)
	case reflect.Slice:
		n := r.IntN(4)
		s := reflect.MakeSlice(v.Type(), n, n)
		for i := range n {
			fill(r, s.Index(i), depth+1)
		}
		v.Set(s)
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i), depth+1)
		}
	case reflect.String:
		v.SetString("abcdefgh"[:r.IntN(9)])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(r.Int64N(100))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(r.Uint64N(100))
	case reflect.Float64:
		v.SetFloat(1.5)
	}
}

// TestEveryRequestDecodes encodes random requests of every API and version by kmsg: the walk over their
// shape must end at their end, and what is decoded must be what was encoded. Every cut of the
// bytes must be refused.
func TestEveryRequestDecodes(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	for _, a := range APIs(RoleBroker | RoleController) {
		for v := a.Min; v <= a.Max; v++ {
			for range 20 {
				req := kmsg.RequestForKey(a.Key)
				fill(r, reflect.ValueOf(req).Elem(), 0)
				req.SetVersion(v)
				body := req.AppendTo(nil)
				got, err := decodeBody(a.Key, v, body)
				if err != nil {
					t.Fatalf("seed %d: %s v%d: %v\n%x", seed, a.Name, v, err, body)
				}
				if !bytes.Equal(got.AppendTo(nil), body) {
					t.Fatalf("seed %d: %s v%d changed by decoding", seed, a.Name, v)
				}
				if len(body) > 0 {
					if _, err := decodedSize(a.Key, v, body[:r.IntN(len(body))]); err == nil {
						t.Fatalf("seed %d: %s v%d: a cut request was taken", seed, a.Name, v)
					}
				}
			}
		}
	}
}

// TestFlexibleVersionsAgree checks the table's first flexible versions against kmsg's.
func TestFlexibleVersionsAgree(t *testing.T) {
	for _, a := range APIs(RoleBroker | RoleController) {
		for v := a.Min; v <= a.Max; v++ {
			req := kmsg.RequestForKey(a.Key)
			req.SetVersion(v)
			if req.IsFlexible() != IsFlexible(a.Key, v) {
				t.Errorf("%s v%d: flexible is %t in kmsg", a.Name, v, req.IsFlexible())
			}
			if req.MaxVersion() < a.Max {
				t.Errorf("%s: kmsg knows only version %d of %d", a.Name, req.MaxVersion(), a.Max)
			}
		}
	}
}

// TestApiVersionsGolden decodes what Kafka answered to ApiVersions with our headers, encodes it again
// to the same bytes, and checks that our table tells the same ranges.
func TestApiVersionsGolden(t *testing.T) {
	for _, g := range readGolden(t, "testdata/apiversions.txt") {
		h, body, err := decodeHeader(g.request[4:], nil)
		if err != nil {
			t.Fatal(err)
		}
		req, err := decodeBody(h.Key, h.Version, body)
		if err != nil {
			t.Fatal(err)
		}
		resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
		if err := resp.ReadFrom(g.response[8:]); err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		if got := appendReply(nil, h, resp); !bytes.Equal(got, g.response) {
			t.Errorf("%s: encoded again it differs:\n%x\n%x", g.name, got, g.response)
		}
		// Without a metrics reporter that takes them, Kafka doesn't tell of the two telemetry APIs.
		const telemetry = 2
		if served := APIs(RoleBroker); len(served)-telemetry != len(resp.ApiKeys) {
			t.Errorf("%s: Kafka tells of %d APIs, our table has %d", g.name, len(resp.ApiKeys), len(served))
		}
		for _, k := range resp.ApiKeys {
			a, ok := LookupAPI(k.ApiKey)
			if !ok || a.Max != k.MaxVersion || AdvertisedMin(k.ApiKey) != k.MinVersion {
				t.Errorf("%s: api %d: Kafka tells %d to %d, our table has %d to %d", g.name, k.ApiKey, k.MinVersion, k.MaxVersion, AdvertisedMin(k.ApiKey), a.Max)
			}
		}
	}
}

// TestHostileCounts checks that a frame of 10 MB whose counts claim more than it holds is refused
// without allocating, for Produce and for others, at each level.
func TestHostileCounts(t *testing.T) {
	zeros := make([]byte, 10<<20)
	flexible := []byte{0x81, 0x80, 0x80, 0x02} // 4 Mi elements.
	for name, c := range map[string]struct {
		key, version int16
		body         []byte
	}{
		"produce topics": {0, 9, append(append([]byte{0, 0, 1, 0, 0, 0, 0}, flexible...), zeros...)},
		"metadata":       {3, 12, append(append([]byte{}, flexible...), zeros...)},
		"create topics":  {19, 5, append(append([]byte{}, flexible...), zeros...)},
		"old style":      {19, 4, append([]byte{0, 0x50, 0, 0}, zeros...)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decodeBody(c.key, c.version, c.body)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: taken", name)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
			t.Errorf("%s: %d bytes allocated", name, n)
		}
	}
}

// same compares two values, an empty slice being like none.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).IsExported() && a.Type().Field(i).Name != "UnknownTags" && !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return same(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	default:
		return a.Interface() == b.Interface()
	}
}

// checkPooled decodes a Produce or Fetch into the memory of requests before, and by kmsg: both must find the same, or
// refuse it alike.
func checkPooled(t *testing.T, b *bodies, key, version int16, body []byte) {
	t.Helper()
	want, wantErr := decodeBody(key, version, body)
	got, err := b.decode(key, version, body)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s v%d: %v, by kmsg %v\n%x", APIName(key), version, err, wantErr, body)
	}
	if err != nil {
		return
	}
	if !same(reflect.ValueOf(got).Elem(), reflect.ValueOf(want).Elem()) {
		t.Fatalf("%s v%d: %+v, by kmsg %+v", APIName(key), version, got, want)
	}
	b.put(got)
}

// TestPooledDecoding decodes random Produce and Fetch requests of all versions in turn into the same memory.
func TestPooledDecoding(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var b bodies
	for range 5000 {
		row := rowOf([]int16{keyProduce, keyFetch}[r.IntN(2)])
		version := row.min + int16(r.IntN(int(row.max-row.min)+1))
		req := kmsg.RequestForKey(row.key)
		fill(r, reflect.ValueOf(req).Elem(), 0)
		req.SetVersion(version)
		checkPooled(t, &b, row.key, version, req.AppendTo(nil))
	}
}

// TestPooledDecodingAllocates nothing, once there is memory of requests before.
func TestPooledDecodingAllocates(t *testing.T) {
	var b bodies
	for _, c := range []struct{ key, version int16 }{{keyProduce, 9}, {keyProduce, 13}, {keyFetch, 11}, {keyFetch, 18}} {
		req := kmsg.RequestForKey(c.key)
		fill(rand.New(rand.NewPCG(7, 7)), reflect.ValueOf(req).Elem(), 0)
		if f, ok := req.(*kmsg.FetchRequest); ok {
			f.ClusterID, f.ReplicaState.ID, f.ReplicaState.Epoch = nil, -1, -1 // As consumers send it.
			for i := range f.Topics {
				for j := range f.Topics[i].Partitions {
					f.Topics[i].Partitions[j].HighWatermark, f.Topics[i].Partitions[j].ReplicaDirectoryID = math.MaxInt64, [16]byte{}
				}
			}
		}
		req.SetVersion(c.version)
		body := req.AppendTo(nil)
		got := testing.AllocsPerRun(100, func() {
			req, err := b.decode(c.key, c.version, body)
			if err != nil {
				t.Fatal(err)
			}
			b.put(req)
		})
		if got != 0 && !raceEnabled {
			t.Errorf("%s v%d allocates %.1f times", APIName(c.key), c.version, got)
		}
	}
}
