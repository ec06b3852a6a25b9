package validate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/log/batch"
)

// answer is one line of testdata/kafka-4.4.0.jsonl: a Produce request with one batch, what
// Kafka 4.4.0 answered, and what it stored. testdata/record writes the file.
type answer struct {
	Name    string            `json:"name"`
	Topic   string            `json:"topic"`
	Config  map[string]string `json:"config"`
	Version int16             `json:"version"`
	Records []byte            `json:"records"`
	NowMs   int64             `json:"now"`
	Code    int16             `json:"code"`
	Message *string           `json:"message"`
	Errors  []struct {
		Index   int32  `json:"index"`
		Message string `json:"message"`
	} `json:"errors"`
	Base       int64  `json:"base"`
	AppendTime int64  `json:"append_time"`
	Stored     []byte `json:"stored"`
}

// defaults are Kafka's default settings of a topic.
func defaults() Params {
	return Params{
		Topic: "t", BeforeMaxMs: math.MaxInt64, AfterMaxMs: 3_600_000, MaxMessageBytes: 1048588,
		SegmentBytes: 1 << 30, Compression: Compression{Producer: true, Level: batch.DefaultLevel},
	}
}

// set puts a topic's settings into p.
func set(t *testing.T, p *Params, config map[string]string) {
	for key, value := range config {
		n, _ := strconv.ParseInt(value, 10, 64)
		switch key {
		case "cleanup.policy":
			p.Compacted = value == "compact"
		case "message.timestamp.type":
			p.TimestampType = batch.LogAppendTime
		case "compression.type":
			p.Compression = Compression{Level: batch.DefaultLevel}
			switch value {
			case "gzip":
				p.Compression.Codec = batch.Gzip
			case "zstd":
				p.Compression.Codec = batch.Zstd
			}
		case "message.timestamp.before.max.ms":
			p.BeforeMaxMs = n
		case "message.timestamp.after.max.ms":
			p.AfterMaxMs = n
		case "max.message.bytes":
			p.MaxMessageBytes = int32(n)
		case "max.decompressed.message.bytes":
			p.MaxDecompressedMessageBytes = int32(n)
		default:
			t.Fatalf("unknown setting %s", key)
		}
	}
}

// produce does what a broker does with the records of a Produce request.
func produce(records []byte, version int16, p *Params, codecs *batch.Codecs) (Result, error) {
	if _, _, err := FirstBatch(records); err != nil {
		return Result{}, err
	}
	if err := Produce(version, records); err != nil {
		return Result{}, err
	}
	a, err := Analyze(records, p)
	if err != nil {
		return Result{}, err
	}
	return Append(&a, p, codecs)
}

// What differs between two runs: the names of topics, and the broker's clock.
var (
	topicName = regexp.MustCompile(`topic partition [a-z0-9-]*-0`)
	timeRange = regexp.MustCompile(`within \[[-0-9]*, [-0-9]*\]`)
)

func normalize(s string) string {
	return timeRange.ReplaceAllString(topicName.ReplaceAllString(s, "topic partition T"), "within R")
}

// TestAnswersOfKafka plays the requests that were played to Kafka 4.4.0 and compares code,
// message, record errors, offsets and time of the answer; and the stored batch, byte for byte
// unless it had to be compressed anew, else record for record.
func TestAnswersOfKafka(t *testing.T) {
	file, err := os.Open("testdata/kafka-4.4.0.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	codecs := batch.NewCodecs()
	next := map[string]int64{}
	n := 0
	for lines := bufio.NewScanner(file); lines.Scan(); n++ {
		var want answer
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		p := defaults()
		set(t, &p, want.Config)
		p.FirstOffset, p.NowMs = next[want.Topic], want.NowMs
		if want.AppendTime >= 0 {
			p.NowMs = want.AppendTime
		}
		sent := bytes.Clone(want.Records)
		got, err := produce(sent, want.Version, &p, codecs)
		if code := kerror.CodeOf(err); code != want.Code {
			t.Errorf("%s: code %d (%v), Kafka says %d", want.Name, code, err, want.Code)
			continue
		}
		if err != nil {
			compareRefusal(t, &want, err)
			continue
		}
		next[want.Topic] = got.LastOffset + 1
		if got.FirstOffset != want.Base || got.LogAppendTimeMs != want.AppendTime {
			t.Errorf("%s: offset %d and append time %d, Kafka says %d and %d", want.Name, got.FirstOffset, got.LogAppendTimeMs, want.Base, want.AppendTime)
		}
		compareStored(t, &want, &got, codecs)
	}
	if n < 164 {
		t.Errorf("only %d cases were read", n)
	}
}

func compareRefusal(t *testing.T, want *answer, err error) {
	message := kerror.MessageOf(err)
	if (message == nil) != (want.Message == nil) || message != nil && normalize(*message) != normalize(*want.Message) {
		t.Errorf("%s: message %v, Kafka says %v", want.Name, err, want.Message)
	}
	var records []RecordError
	if re := new(RecordErrors); errors.As(err, &re) {
		records = re.Records
	}
	if len(records) != len(want.Errors) {
		t.Errorf("%s: record errors %v, Kafka says %v", want.Name, records, want.Errors)
		return
	}
	for i, r := range records {
		if r.BatchIndex != want.Errors[i].Index || normalize(r.Message) != normalize(want.Errors[i].Message) {
			t.Errorf("%s: record error %v, Kafka says %v", want.Name, r, want.Errors[i])
		}
	}
}

func compareStored(t *testing.T, want *answer, got *Result, codecs *batch.Codecs) {
	if bytes.Equal(got.Records, want.Stored) {
		return
	}
	if !got.Recompressed || got.Batch.Attributes.Codec() == batch.None {
		t.Errorf("%s: stored\n%x, Kafka\n%x", want.Name, got.Records, want.Stored)
		return
	}
	kafkas, _, err := batch.Parse(want.Stored)
	if err != nil {
		t.Fatal(err)
	}
	ours := got.Batch.Header
	theirs := kafkas.Header
	ours.CRC, ours.Length, theirs.CRC, theirs.Length = 0, 0, 0, 0
	if ours != theirs {
		t.Errorf("%s: head %+v, Kafka's %+v", want.Name, ours, theirs)
	}
	if a, b := plain(t, &got.Batch, codecs), plain(t, &kafkas, codecs); !bytes.Equal(a, b) {
		t.Errorf("%s: records\n%x, Kafka's\n%x", want.Name, a, b)
	}
}

// plain decompresses the records of b.
func plain(t *testing.T, b *batch.Batch, codecs *batch.Codecs) []byte {
	records, err := codecs.Decompress(nil, b.Attributes.Codec(), b.Payload(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return records
}
