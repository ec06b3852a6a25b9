package cases

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// client is the client id of hand-made headers.
var client = kmsg.StringPtr("diff")

// header is a request header by hand; flexible adds the empty tag section of version 2.
func header(key, version int16, flexible bool) []byte {
	return diff.AppendHeader(nil, key, version, 7, client, flexible)
}

// connection is about frames and headers, whatever the API.
func connection() []diff.Case {
	l := &list{api: "connection"}
	send := func(name string, b []byte) {
		l.add(name, func(s *diff.Script) {
			s.Raw(b)
			s.Fate("after the bytes")
		})
	}
	size := func(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

	send("size-negative", size(-1))
	send("size-most-negative", size(-1<<31))
	send("size-above-limit", size(100<<20+1))
	send("size-largest", size(1<<31-1))
	send("size-zero", size(0))
	send("size-below-header", diff.Frame([]byte{0, 18, 0, 0}))
	send("header-truncated", diff.Frame(header(18, 0, false)[:9]))
	send("header-client-id-too-long", diff.Frame([]byte{0, 18, 0, 0, 0, 0, 0, 7, 0x7f, 0xff, 'a'}))
	send("header-tags-missing", diff.Frame(header(18, 3, false)))
	send("frame-unfinished", append(size(100), 0, 18))
	send("http-get", []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	send("tls-hello-X06", append([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, make([]byte, 506)...))

	send("api-key-unknown", diff.Frame(header(999, 0, false)))
	send("api-key-negative", diff.Frame(header(-1, 0, false)))
	send("api-of-other-listener", diff.Frame(append(header(52, 0, true), 0, 1, 0))) // Vote, a controller's.
	send("api-removed-leader-and-isr", diff.Frame(header(4, 0, false)))
	send("body-empty", diff.Frame(header(3, 9, true)))
	send("body-truncated", diff.Frame(append(header(10, 0, false), 0, 20, 'a')))
	send("body-array-longer-than-frame", diff.Frame(append(header(3, 1, false), 0x7f, 0xff, 0xff, 0xff)))
	send("body-array-negative", diff.Frame(append(header(19, 2, false), 0xff, 0xff, 0xff, 0xfe)))
	send("body-compact-array-huge", diff.Frame(append(header(3, 9, true), 0xff, 0xff, 0xff, 0xff, 0x0f)))
	send("body-varint-too-long", diff.Frame(append(header(3, 9, true), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)))
	send("body-string-null-where-not-nullable", diff.Frame(append(header(10, 0, false), 0xff, 0xff)))
	send("tag-longer-than-frame", diff.Frame(append(diff.AppendHeader(nil, 18, 3, 7, client, false), 1, 5, 0x7f, 1)))

	for _, v := range []struct{ key, below, above int16 }{
		{0, 2, 14}, {1, 3, 19}, {2, 0, 12}, {3, -1, 14}, {8, 1, 11}, {9, 0, 11}, {10, -1, 7}, {11, 1, 10}, {12, -1, 5},
		{13, -1, 6}, {14, -1, 6}, {15, -1, 7}, {16, -1, 6}, {19, 1, 8}, {20, 0, 7}, {21, -1, 3}, {22, -1, 6}, {23, 1, 5},
		{29, 0, 4}, {32, 0, 5}, {33, -1, 3}, {35, 0, 6}, {37, -1, 4}, {42, -1, 4}, {43, -1, 3}, {44, -1, 2}, {46, -1, 1},
		{47, -1, 1}, {48, -1, 2}, {50, -1, 1}, {55, -1, 3}, {60, -1, 3}, {61, -1, 1}, {74, -1, 2}, {75, -1, 1},
	} {
		name := kmsg.NameForKey(v.key)
		l.add("version-unsupported-"+FileName(name), func(s *diff.Script) {
			for i, version := range []int16{v.below, v.above} {
				p := s.On(fmt.Sprintf("c%d", i))
				p.Raw(diff.Frame(header(v.key, version, version > 4)))
				p.Fate(fmt.Sprintf("after %s v%d", name, version))
			}
		})
	}
	l.add("version-unsupported-P06-P25", func(s *diff.Script) {
		for _, r := range []struct {
			what         string
			key, version int16
		}{{"OffsetCommit", 8, 0}, {"OffsetCommit", 8, 1}, {"Produce", 0, 0}, {"Produce", 0, 1}, {"Fetch", 1, 2}, {"Fetch", 1, 99}} {
			p := s.On(fmt.Sprintf("%s-%d", r.what, r.version))
			p.Raw(diff.Frame(append(header(r.key, r.version, false), make([]byte, 64)...)))
			p.Fate(fmt.Sprintf("after %s v%d", r.what, r.version))
		}
	})

	l.add("bytes-one-by-one", func(s *diff.Script) {
		s.AwaitCoordinator("g")
		for _, b := range diff.Frame(append(header(12, 0, false), 0, 1, 'g', 0, 0, 0, 1, 0, 1, 'm')) {
			s.Raw([]byte{b})
		}
		s.RawAnswer("Heartbeat v0 sent byte by byte")
		s.Fate("after it")
	})
	l.add("answers-in-order", func(s *diff.Script) {
		t := s.Topic("t", 1)
		a := s.Send(12, diff.MetadataOf(t))
		b := s.Send(7, listOffsets(offsetsOf(t, at(0, -1))))
		c := s.Send(12, diff.MetadataOf(s.Name("none")))
		d := s.Send(0, kmsg.NewPtrListGroupsRequest())
		a.Answer()
		b.Answer()
		c.Answer()
		d.Answer()
	})
	l.add("header-client-id-negative", func(s *diff.Script) {
		s.AwaitCoordinator("g")
		s.Raw(diff.Frame([]byte{0, 12, 0, 0, 0, 0, 0, 7, 0x80, 0x00, 0, 1, 'g', 0, 0, 0, 1, 0, 1, 'm'}))
		s.RawAnswer("Heartbeat v0 with a client id of length -32768")
		s.Fate("after it")
	})
	l.add("client-id-opaque-P37", func(s *diff.Script) {
		s.AwaitCoordinator("g")
		for _, id := range []string{"", "zone=a,host=b", "ä\x00\n", "\xff\xfe"} {
			frame := diff.AppendHeader(nil, 12, 0, 7, &id, false)
			s.Raw(diff.Frame(append(frame, 0, 1, 'g', 0, 0, 0, 1, 0, 1, 'm')))
			s.RawAnswer(fmt.Sprintf("Heartbeat v0 with client id %q", id))
		}
	})
	l.add("client-id-null", func(s *diff.Script) {
		s.AwaitCoordinator("g")
		s.Raw(diff.Frame(append(diff.AppendHeader(nil, 12, 0, 7, nil, false), 0, 1, 'g', 0, 0, 0, 1, 0, 1, 'm')))
		s.RawAnswer("Heartbeat v0 without a client id")
		s.Fate("after it")
	})
	l.add("bytes-after-body", func(s *diff.Script) {
		s.AwaitCoordinator("g")
		s.Raw(diff.Frame(append(header(12, 0, false), 0, 1, 'g', 0, 0, 0, 1, 0, 1, 'm', 9, 9, 9)))
		s.RawAnswer("Heartbeat v0 with three bytes too many")
		s.Fate("after it")
	})
	l.add("unknown-tags-in-request", func(s *diff.Script) {
		s.AwaitCoordinator("g")
		frame := diff.AppendHeader(nil, 12, 4, 7, client, false)
		frame = append(frame, 1, 50, 2, 'h', 'i') // A tag in the header,
		frame = append(frame, 2, 'g', 0, 0, 0, 1, 2, 'm', 0, 1, 99, 1, 'x')
		s.Raw(diff.Frame(frame)) // and one in the body.
		s.RawAnswer("Heartbeat v4 with unknown tags")
		s.Fate("after it")
	})
	return l.cases
}

// FileName turns an API's name into that of its handler file.
func FileName(name string) string {
	name = strings.Replace(name, "ACLs", "Acls", 1)
	var b []byte
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			startsWord := i > 0 && (name[i-1] >= 'a' || i+1 < len(name) && name[i+1] >= 'a')
			if startsWord {
				b = append(b, '_')
			}
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return string(b)
}
