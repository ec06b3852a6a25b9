package diff

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// rendered is a Metadata answer as lines, with one own topic and one of somebody else.
func rendered(t *testing.T, change func(*kmsg.MetadataResponse)) *Transcript {
	t.Helper()
	resp := kmsg.NewPtrMetadataResponse()
	resp.SetVersion(12)
	broker := kmsg.NewMetadataResponseBroker()
	broker.NodeID, broker.Host, broker.Port = 1, "127.0.0.1", 9092
	resp.Brokers = append(resp.Brokers, broker)
	for _, name := range []string{"other", "b-nonce", "a-nonce"} {
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic, topic.TopicID = &name, [16]byte{1: name[0]}
		resp.Topics = append(resp.Topics, topic)
	}
	change(resp)
	a := newAliases(0, "127.0.0.1", "9092")
	a.bound["a-nonce"], a.bound["b-nonce"] = "<a>", "<b>"
	r := newRenderer(a, func(name string) bool { return strings.HasSuffix(name, "-nonce") })
	body := resp.AppendTo(nil)
	return &Transcript{Case: "metadata/x", Steps: []Step{{Title: "Metadata v12", Lines: r.answer(emptyMetadata(), body)}}}
}

func emptyMetadata() *kmsg.MetadataResponse {
	resp := kmsg.NewPtrMetadataResponse()
	resp.SetVersion(12)
	return resp
}

// TestTranscriptText shows what an answer looks like and that it reads back as it was.
func TestTranscriptText(t *testing.T) {
	tr := rendered(t, func(*kmsg.MetadataResponse) {})
	text := tr.Text()
	want := `# metadata/x

> Metadata v12
.: ThrottleMillis=0 ClusterID=null ControllerID=-1 AuthorizedOperations=-2147483648 ErrorCode=0
Brokers[0]: NodeID=1 Host=<host> Port=<port> Rack=null
Topics[<a>]: ErrorCode=0 Topic="<a>" TopicID=<id:1> IsInternal=false Partitions=none AuthorizedOperations=-2147483648
Topics[<b>]: ErrorCode=0 Topic="<b>" TopicID=<id:2> IsInternal=false Partitions=none AuthorizedOperations=-2147483648
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	again, err := ParseTranscript(text)
	if err != nil {
		t.Fatal(err)
	}
	if d := Compare(tr, again, nil); len(d) != 0 {
		t.Errorf("reading back changes it: %v", d)
	}
}

// TestCompare plants differences of each kind.
func TestCompare(t *testing.T) {
	want := rendered(t, func(*kmsg.MetadataResponse) {})
	for name, c := range map[string]struct {
		change func(*kmsg.MetadataResponse)
		show   string
	}{
		"another value":  {func(r *kmsg.MetadataResponse) { r.Topics[1].ErrorCode = 3 }, "ErrorCode: want 0, got 3(UNKNOWN_TOPIC_OR_PARTITION)"},
		"another port":   {func(r *kmsg.MetadataResponse) { r.Brokers[0].Port = 9093 }, "Brokers[0].Port: want <port>, got 9093"},
		"unknown tag":    {func(r *kmsg.MetadataResponse) { r.UnknownTags.Set(9, []byte{1}) }, "UnknownTags: want nothing, got {9:01}"},
		"missing broker": {func(r *kmsg.MetadataResponse) { r.Brokers = nil }, "Brokers[0]: want Brokers[0]: NodeID=1 Host=<host> Port=<port> Rack=null, got nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			var shown []string
			for _, d := range Compare(want, rendered(t, c.change), nil) {
				shown = append(shown, d.String())
			}
			if !strings.Contains(strings.Join(shown, "\n"), c.show) {
				t.Errorf("got %q, want one that has %q", shown, c.show)
			}
		})
	}
	allowed := []Deliberate{{Case: "metadata/*", Path: "Brokers[*", Field: "Port"}}
	changed := rendered(t, func(r *kmsg.MetadataResponse) { r.Brokers[0].Port = 9093 })
	if d := Compare(want, changed, allowed); len(d) != 0 {
		t.Errorf("an allowed difference is reported: %v", d)
	}
}

// TestAnswerShowsSurplusBytes covers what a lenient decoder would hide.
func TestAnswerShowsSurplusBytes(t *testing.T) {
	r := newRenderer(newAliases(0, "h", "1"), func(string) bool { return true })
	lines := r.answer(kmsg.NewPtrHeartbeatResponse(), []byte{0, 16, 9, 9})
	if got, want := lines[0].text(), ".: ThrottleMillis=0 ErrorCode=16(NOT_COORDINATOR) Bytes=+2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestNormalisedText shows each kind of replacement.
func TestNormalisedText(t *testing.T) {
	a := newAliases(1_700_000_000_000, "127.0.0.1", "9092")
	a.bound["t-abc"] = "<t>"
	for raw, want := range map[string]string{
		"no topic t-abc here":                       "no topic <t> here",
		"diff-9b2b3f2a-0000-4000-8000-0123456789ab": "diff-<uuid:1>",
		"at 1700000000005":                          "at start+5",
		"within [-9223370240884843, 1700099999999]": "within [<ms>, <ms>]",
		"9223372036854775807":                       "9223372036854775807",
		"PLAINTEXT://127.0.0.1:9092":                "PLAINTEXT://<address>",
		"604800000":                                 "604800000",
	} {
		if got := a.text(raw); got != want {
			t.Errorf("text(%q) = %q, want %q", raw, got, want)
		}
	}
}

// TestBatchRoundTrip encodes in every codec and reads what a fetch would bring back.
func TestBatchRoundTrip(t *testing.T) {
	for _, c := range []Codec{CodecNone, CodecGzip, CodecSnappy, CodecLZ4, CodecZstd} {
		b := NewBatch(Record{Time: 5, Key: []byte("k"), Value: []byte("v")}, Record{Time: 9, Headers: []kmsg.Header{{Key: "h", Value: []byte("x")}}})
		b.Codec = c
		r := newRenderer(newAliases(0, "h", "1"), func(string) bool { return true })
		n, lines := r.records("R", b.Encode())
		var text []string
		for _, l := range lines[1:] {
			text = append(text, l.text())
		}
		want := `R[0].Records[0]: OffsetDelta=0 TimestampDelta=0 Key="k" Value="v"` + "\n" +
			`R[0].Records[1]: OffsetDelta=1 TimestampDelta=4 Key=null Value=null Headers=["h":"x"]`
		if got := strings.Join(text, "\n"); n != "1-batches" || got != want {
			t.Errorf("%s: %s, got\n%s\nwant\n%s", c, n, got, want)
		}
	}
}
