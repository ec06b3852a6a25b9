package hostile

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// served is an API with the versions that a broker advertises.
type served struct {
	key, min, max int16
}

// legal makes requests that are well formed and else random: fields are filled by their types, and by their names where
// a random value would only ever be refused, or would be a plain order to create thousands of partitions. Not safe for
// concurrent use.
type legal struct {
	rand *rand.Rand
	apis []served
	// topics and ids are what the requests may do harm to.
	topics []string
	ids    [][16]byte
}

// request is a random one.
func (l *legal) request() kmsg.Request {
	a := l.apis[l.rand.IntN(len(l.apis))]
	return l.requestOf(a.key, a.min+int16(l.rand.IntN(int(a.max-a.min)+1)))
}

func (l *legal) requestOf(key, version int16) kmsg.Request {
	req := kmsg.RequestForKey(key)
	l.fill(reflect.ValueOf(req).Elem(), "", 0)
	req.SetVersion(version)
	switch req := req.(type) {
	case *kmsg.CreateTopicsRequest:
		req.ValidateOnly = true
	case *kmsg.CreatePartitionsRequest:
		req.ValidateOnly = true
	case *kmsg.DeleteTopicsRequest: // Of what isn't there, as the others need topics, and the good client its group.
		for i := range req.TopicNames {
			req.TopicNames[i] = "none"
		}
		for i := range req.Topics {
			req.Topics[i].Topic, req.Topics[i].TopicID = kmsg.StringPtr("none"), [16]byte{1}
		}
	}
	return req
}

// frame is a request with its header and size.
func (l *legal) frame(req kmsg.Request) []byte {
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID(l.text("ClientID")))
	return f.AppendRequest(nil, req, l.rand.Int32())
}

var tagsType = reflect.TypeFor[kmsg.Tags]()

func (l *legal) fill(v reflect.Value, name string, depth int) {
	if v.Type() == tagsType {
		if l.rand.IntN(20) == 0 {
			for range l.rand.IntN(4) {
				v.Addr().Interface().(*kmsg.Tags).Set(100+l.rand.Uint32N(1000), l.bytes(l.rand.IntN(40)))
			}
		}
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(l.rand.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(l.integer(name, v.Type().Bits()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(l.rand.Uint64() >> l.rand.IntN(64) & (1<<v.Type().Bits() - 1))
	case reflect.Float64:
		v.SetFloat(l.rand.NormFloat64() * math.Pow(10, float64(l.rand.IntN(20))))
	case reflect.String:
		v.SetString(l.text(name))
	case reflect.Pointer:
		if l.rand.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			l.fill(v.Elem(), name, depth)
		}
	case reflect.Array: // [16]byte.
		id := l.ids[l.rand.IntN(len(l.ids))]
		if l.rand.IntN(4) == 0 {
			copy(id[:], l.bytes(16))
		}
		reflect.Copy(v, reflect.ValueOf(id))
	case reflect.Slice:
		l.slice(v, name, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				l.fill(v.Field(i), f.Name, depth+1)
			}
		}
	}
}

func (l *legal) slice(v reflect.Value, name string, depth int) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		switch {
		case name == "Records" || name == "RecordBatches":
			v.SetBytes(l.records())
		case l.rand.IntN(8) > 0:
			v.SetBytes(l.bytes(l.rand.IntN(60)))
		}
		return
	}
	if l.rand.IntN(12) == 0 {
		return // Null where that is possible.
	}
	n := 1 + l.rand.IntN(max(1, 4-depth))
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		l.fill(v.Index(i), name, depth+1)
	}
}

func (l *legal) integer(name string, bits int) int64 {
	switch {
	case strings.Contains(name, "Wait") || name == "TimeoutMillis":
		return l.rand.Int64N(100)
	case strings.Contains(name, "SessionTimeout") || strings.Contains(name, "RebalanceTimeout"):
		return 6000 + l.rand.Int64N(1000)
	case name == "Acks":
		return l.rand.Int64N(3) - 1
	case name == "Partition" || name == "Partitions" || name == "ReplicationFactor":
		if l.rand.IntN(4) > 0 {
			return l.rand.Int64N(3)
		}
	case name == "NumPartitions" || name == "Count":
		return l.rand.Int64N(4) - 1
	}
	switch l.rand.IntN(6) {
	case 0:
		return 0
	case 1:
		return -1
	case 2:
		return math.MaxInt64 >> (64 - bits)
	case 3:
		return math.MinInt64 >> (64 - bits)
	case 4:
		return l.rand.Int64N(100)
	default:
		return int64(l.rand.Uint64()) >> (64 - bits)
	}
}

// protocolNames are strings that mean something in some field.
var protocolNames = []string{"consumer", "range", "connect", "cleanup.policy", "retention.ms", "compact", "-1", "__consumer_offsets", "."}

func (l *legal) text(name string) string {
	switch n := l.rand.IntN(10); {
	case n < 5 && strings.Contains(name, "Topic"), n < 2:
		return l.topics[l.rand.IntN(len(l.topics))]
	case n < 6:
		return "hostile-" + string('a'+rune(l.rand.IntN(20)))
	case n < 7:
		return protocolNames[l.rand.IntN(len(protocolNames))]
	case n < 8:
		return ""
	case n < 9:
		return string(l.bytes(l.rand.IntN(20)))
	default:
		return strings.Repeat("é", l.rand.IntN(300))
	}
}

func (l *legal) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(l.rand.Uint32())
	}
	return b
}

// records is a batch that a broker takes, or one that it has to refuse.
func (l *legal) records() []byte {
	var body []byte
	n := 1 + l.rand.IntN(5)
	for i := range n {
		rec := []byte{0}                                // Attributes.
		rec = kbin.AppendVarint(rec, int32(i))          // Timestamp delta.
		rec = kbin.AppendVarint(rec, int32(i))          // Offset delta.
		rec = kbin.AppendVarintBytes(rec, l.bytes(8))   // Key.
		rec = kbin.AppendVarintBytes(rec, l.bytes(100)) // Value.
		rec = kbin.AppendVarint(rec, 0)                 // Headers.
		body = kbin.AppendVarint(body, int32(len(rec)))
		body = append(body, rec...)
	}
	const header = 61
	b := make([]byte, header, header+len(body))
	b = append(b, body...)
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	b[16] = 2
	if l.rand.IntN(4) == 0 {
		b[22] = byte(l.rand.IntN(8)) // A codec that the records aren't packed with.
	}
	binary.BigEndian.PutUint32(b[23:], uint32(n-1))
	now := uint64(1_700_000_000_000)
	binary.BigEndian.PutUint64(b[27:], now)
	binary.BigEndian.PutUint64(b[35:], now+uint64(n-1))
	for i := 43; i < 57; i++ {
		b[i] = 0xff // No producer.
	}
	binary.BigEndian.PutUint32(b[57:], uint32(n))
	if l.rand.IntN(4) == 0 {
		b[l.rand.IntN(len(b))] ^= 1 << l.rand.IntN(8)
	}
	if l.rand.IntN(10) > 0 {
		binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	}
	return b
}
