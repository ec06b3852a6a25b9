package decide

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestScripts plays requests from testdata and shows answers and records; records change the image
// that later requests see. Errors and messages were compared with those that Kafka 4.4.0 gave to the
// same requests. An answer is "ok" or an error's name with its message; a record is one line after
// it. Words with spaces are quoted. Topic ids are shown as #1, #2 in order of creation.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := newScript(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			run := s.commands()[d.Cmd]
			if run == nil {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			s.out.Reset()
			run(d, lines(d.Input))
			return s.out.String()
		})
	})
}

const (
	testCluster = "AAAAAAAAAAAAAAAAAAAAAA"
	testNode    = 1
)

// script is the state between the commands of one file.
type script struct {
	t        *testing.T
	settings *config.Broker
	image    *image.Image
	rng      *rand.Rand
	live     *Liveness
	voters   []QuorumReplica // beside this node
	now      time.Time
	ids      map[image.ID]int
	byAlias  []image.ID
	out      strings.Builder
}

func newScript(t *testing.T) *script {
	s := &script{t: t, rng: rand.New(rand.NewPCG(1, 1)), ids: map[image.ID]int{}}
	s.load(nil)
	one := "1"
	m, _, err := image.Empty().Apply(1, []metadata.Record{
		&metadata.ClusterRecord{ClusterID: testCluster},
		&metadata.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: 33},
		&metadata.FeatureLevelRecord{Name: elrFeature, FeatureLevel: 1},
		&metadata.ConfigRecord{ResourceType: image.ResourceBroker, Name: minInsync, Value: &one},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.image, s.now = m, time.Unix(1000, 0)
	s.live = NewLiveness(m, s.settings, s.now)
	return s
}

func (s *script) load(overrides map[string]string) {
	static := config.ZeroConfig()
	static["node.id"] = strconv.Itoa(testNode)
	for k, v := range overrides {
		static[k] = v
	}
	settings, _, err := config.Load(static)
	if err != nil {
		s.t.Fatal(err)
	}
	s.settings = settings
}

func (s *script) commands() map[string]func(*datadriven.TestData, [][]string) {
	return map[string]func(*datadriven.TestData, [][]string){
		"settings": s.cmdSettings, "brokers": s.cmdBrokers, "features": s.cmdFeatures, "topics": s.cmdTopics,
		"create-topics": s.cmdCreateTopics, "delete-topics": s.cmdDeleteTopics, "create-partitions": s.cmdCreatePartitions,
		"alter": s.cmdAlter, "replace": s.cmdReplace, "elect": s.cmdElect, "reassign": s.cmdReassign, "list-reassignments": s.cmdListReassignments,
		"register": s.cmdRegister, "heartbeat": s.cmdHeartbeat, "unregister": s.cmdUnregister, "producer-ids": s.cmdProducerIDs, "quorum": s.cmdQuorum,
		"alter-partition": s.cmdAlterPartition, "update-features": s.cmdUpdateFeatures, "wait": s.cmdWait, "takeover": s.cmdTakeover, "disconnect": s.cmdDisconnect, "suspect": s.cmdSuspect,
		"controllers": s.cmdControllers, "partitions": s.cmdPartitions,
	}
}

// decide runs a request, and applies and shows its records after show has shown the response.
func (s *script) decide(req kmsg.Request, show func(kmsg.Response)) {
	s.t.Helper()
	d, err := Decide(s.env(), req)
	if err != nil {
		s.t.Fatal(err)
	}
	show(d.Response)
	s.apply(&d)
}

func (s *script) env() *Env {
	return &Env{
		Image: s.image, NodeID: testNode, Now: s.now, Rand: s.rng, Settings: s.settings, Live: s.live, Incarnation: image.ID{200},
		Quorum: Quorum{LeaderID: testNode, LeaderEpoch: 3, HighWatermark: s.image.Offset() + 1, Voters: append([]QuorumReplica{{ID: testNode}}, s.voters...)},
	}
}

// apply applies a decision's records in its batches and shows them.
func (s *script) apply(d *Decision) {
	s.t.Helper()
	for batch := range d.Batches() {
		next, _, err := s.image.Apply(1, batch)
		if err != nil {
			s.t.Fatal(err)
		}
		if err := next.Check(); err != nil {
			s.t.Fatal(err)
		}
		s.image = next
	}
	for _, r := range d.Records {
		s.printf("  + %s\n", s.record(r))
	}
}

func (s *script) printf(format string, args ...any) { fmt.Fprintf(&s.out, format, args...) }

func (s *script) result(what string, code int16, message *string, extra string) {
	s.printf("%s: ", what)
	switch {
	case code != 0:
		name := "UNKNOWN_SERVER_ERROR"
		if e := kerr.TypedErrorForCode(code); e != nil {
			name = e.Message
		}
		s.printf("%s", name)
		if message != nil {
			s.printf(": %s", *message)
		}
	case message != nil && *message != "":
		s.printf("ok, but with message %q", *message)
	default:
		s.printf("ok")
	}
	s.printf("%s\n", extra)
}

// alias names a topic id; new ones get the next number.
func (s *script) alias(id image.ID) string {
	if id == (image.ID{}) {
		return "-"
	}
	if _, ok := s.ids[id]; !ok {
		s.byAlias = append(s.byAlias, id)
		s.ids[id] = len(s.byAlias)
	}
	return "#" + strconv.Itoa(s.ids[id])
}

func (s *script) record(record metadata.Record) string {
	switch r := record.(type) {
	case *metadata.TopicRecord:
		return fmt.Sprintf("topic %s %s", r.Name, s.alias(r.TopicID))
	case *metadata.RemoveTopicRecord:
		return "remove topic " + s.alias(r.TopicID)
	case *metadata.PartitionRecord:
		return fmt.Sprintf("partition %s-%d replicas=%v isr=%v leader=%d", s.alias(r.TopicID), r.PartitionID, r.Replicas, r.ISR, r.Leader)
	case *metadata.PartitionChangeRecord:
		out := fmt.Sprintf("change %s-%d", s.alias(r.TopicID), r.PartitionID)
		if r.Leader != -2 {
			out += fmt.Sprintf(" leader=%d", r.Leader)
		}
		for _, l := range []struct {
			name string
			ids  []int32
		}{{"isr", r.ISR}, {"elr", r.EligibleLeaderReplicas}, {"last", r.LastKnownELR}, {"replicas", r.Replicas}, {"adding", r.AddingReplicas}, {"removing", r.RemovingReplicas}} {
			if l.ids != nil {
				out += fmt.Sprintf(" %s=%v", l.name, l.ids)
			}
		}
		if r.Directories != nil {
			out += " dirs=" + dirNames(r.Directories)
		}
		if r.LeaderRecoveryState >= 0 {
			out += fmt.Sprintf(" recovery=%d", r.LeaderRecoveryState)
		}
		return out
	case *metadata.ConfigRecord:
		value := "unset"
		if r.Value != nil {
			value = strconv.Quote(*r.Value)
		}
		return fmt.Sprintf("config %d/%q %s=%s", r.ResourceType, r.ResourceName, r.Name, value)
	case *metadata.RegisterBrokerRecord:
		return fmt.Sprintf("register broker %d epoch=%d fenced=%t", r.BrokerID, r.BrokerEpoch, r.Fenced)
	case *metadata.UnregisterBrokerRecord:
		return fmt.Sprintf("unregister broker %d epoch=%d", r.BrokerID, r.BrokerEpoch)
	case *metadata.BrokerRegistrationChangeRecord:
		out := fmt.Sprintf("change broker %d epoch=%d fenced=%d shutdown=%d", r.BrokerID, r.BrokerEpoch, r.Fenced, r.InControlledShutdown)
		if r.LogDirs != nil {
			out += " dirs=" + dirNames(r.LogDirs)
		}
		if r.CordonedLogDirs != nil {
			out += " cordoned=" + dirNames(r.CordonedLogDirs)
		}
		return out
	case *metadata.FeatureLevelRecord:
		return fmt.Sprintf("feature %s=%d", r.Name, r.FeatureLevel)
	case *metadata.ClearElrRecord:
		return fmt.Sprintf("clear elr of %q", r.TopicName)
	case *metadata.ProducerIdsRecord:
		return fmt.Sprintf("producer ids broker=%d next=%d", r.BrokerID, r.NextProducerID)
	}
	return fmt.Sprintf("%T%+v", record, record)
}

// lines splits input into words; a quoted part of a word may hold spaces, and \n-style escapes.
func lines(input string) (out [][]string) {
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		var words []string
		for line != "" {
			end, quoted := 0, false
			for end < len(line) && (quoted || line[end] != ' ') {
				if line[end] == '"' {
					quoted = !quoted
				}
				end++
			}
			words = append(words, strings.ReplaceAll(line[:end], `"`, ""))
			line = strings.TrimSpace(line[end:])
		}
		out = append(out, words)
	}
	return out
}

// options splits words like a=b; a word without a sign maps to "".
func options(words []string) map[string]string {
	m := map[string]string{}
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		m[k] = v
	}
	return m
}

func (s *script) number(word string, otherwise int64) int64 {
	if word == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) brokerIDs(list string) []int32 {
	out := []int32{}
	for w := range strings.SplitSeq(list, ",") {
		if w != "" {
			out = append(out, int32(s.number(w, 0)))
		}
	}
	return out
}

// name repeats a word like x*249.
func name(word string) string {
	if base, n, ok := strings.Cut(word, "*"); ok {
		if k, err := strconv.Atoi(n); err == nil {
			return strings.Repeat(base, k)
		}
	}
	return word
}
