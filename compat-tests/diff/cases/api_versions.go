package cases

import (
	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func apiVersions() []diff.Case {
	l := &list{api: "api_versions"}
	software := func(name, version string) *kmsg.ApiVersionsRequest {
		req := kmsg.NewPtrApiVersionsRequest()
		req.ClientSoftwareName, req.ClientSoftwareVersion = name, version
		return req
	}
	l.add("too-new-P01-P04", func(s *diff.Script) {
		for _, version := range []int16{6, 99, 32767} {
			s.Raw(diff.Frame(append(header(18, version, true), 1, 1, 0)))
			s.Say("version %d", version).RawAnswer("ApiVersions")
		}
		s.Ask(3, software("after", "1"))
		s.Fate("after them")
	})
	l.add("header-without-tags-P03", func(s *diff.Script) {
		for _, version := range []int16{0, 3, 4, 5} {
			req := software("diff", "1")
			req.SetVersion(version)
			s.Raw(diff.Frame(req.AppendTo(header(18, version, version >= 3))))
			s.Say("version %d: correlation id, then at once the error code", version).RawHead("ApiVersions", 6)
		}
	})
	l.add("too-new-with-strange-body", func(s *diff.Script) {
		s.Raw(diff.Frame(append(header(18, 99, false), 0xff, 0xff, 0xff, 0xff)))
		s.RawAnswer("ApiVersions v99")
		s.Fate("after it")
	})
	l.add("negative-version", func(s *diff.Script) {
		s.Raw(diff.Frame(header(18, -1, false)))
		s.RawAnswer("ApiVersions v-1")
		s.Fate("after it")
	})
	for name, value := range map[string]string{
		"name-empty": "", "name-with-space": "a b", "name-starts-with-dash": "-a", "name-ends-with-dot": "a.",
		"name-not-ascii": "ä",
	} {
		l.add("software-"+name, func(s *diff.Script) {
			s.Ask(3, software(value, "1"))
			s.Fate("after it")
		})
	}
	l.add("software-version-bad", func(s *diff.Script) {
		s.Ask(3, software("good", ""))
		s.Ask(4, software("good", "1 0"))
		s.Fate("after them")
	})
	l.add("cluster-and-node-of-v5", func(s *diff.Script) {
		req := software("diff", "1")
		req.ClusterID, req.NodeID = kmsg.StringPtr("some-other-cluster"), 77
		s.Say("another cluster").Ask(5, req)
		req = software("diff", "1")
		req.NodeID = 77
		s.Say("another node").Ask(5, req)
		req.NodeID = 1
		s.Say("this node").Ask(5, req)
		s.Fate("after them")
	})
	versions(l, 0, 5, func(s *diff.Script, v int16) { s.Ask(v, software("diff", "1.0")) })
	return l.cases
}
