package diff

import (
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

// aliases replaces what differs between two runs of the same broker by names that don't. One value
// gets one alias for the whole case, so that "the same member id as before" stays visible.
type aliases struct {
	// byKind holds the aliases given out so far, by kind and then by value.
	byKind map[string]map[string]string
	// bound are pieces of strings with a fixed alias: names of topics and groups, ids in text form.
	bound map[string]string
	// start is the time that scripts count timestamps from, in ms.
	start int64
	// host and port are the broker's address as dialled.
	host, port string
}

func newAliases(start int64, host, port string) *aliases {
	return &aliases{byKind: map[string]map[string]string{}, bound: map[string]string{}, start: start, host: host, port: port}
}

// of is the alias of a value: the bound one, or the kind with a number in order of appearance.
func (a *aliases) of(kind, value string) string {
	m := a.byKind[kind]
	if m == nil {
		m = map[string]string{}
		a.byKind[kind] = m
	}
	if _, ok := m[value]; !ok {
		m[value] = fmt.Sprintf("<%s:%d>", kind, len(m)+1)
	}
	return m[value]
}

// bindID gives a topic id the alias of its topic's name, as bytes and in text.
func (a *aliases) bindID(id [16]byte, alias string) {
	if id == ([16]byte{}) {
		return
	}
	if a.byKind["id"] == nil {
		a.byKind["id"] = map[string]string{}
	}
	a.byKind["id"][string(id[:])] = alias
	a.bound[base64.RawURLEncoding.EncodeToString(id[:])] = alias
}

// id is the alias of a topic or directory id.
func (a *aliases) id(id [16]byte) string {
	switch {
	case id == [16]byte{}:
		return "0"
	case id == [16]byte{15: 1}:
		return "1"
	}
	alias := a.of("id", string(id[:]))
	a.bound[base64.RawURLEncoding.EncodeToString(id[:])] = alias
	return alias
}

// slack is how far a broker's clock reading may be from ours and still be called now.
const slack = 10 * time.Minute

// timestamp is a time in ms as a distance from the script's start, as now, or as it is.
func (a *aliases) timestamp(ms int64) string {
	if d := ms - a.start; d >= -100_000 && d <= 100_000 {
		return fmt.Sprintf("start%+d", d)
	}
	if d := ms - time.Now().UnixMilli(); d >= -slack.Milliseconds() && d <= slack.Milliseconds() {
		return "<now>"
	}
	return strconv.FormatInt(ms, 10)
}

var (
	uuidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timePattern = regexp.MustCompile(`-?\b[0-9]{13,19}\b`)
	portPattern = regexp.MustCompile(`(127\.0\.0\.1|localhost):[0-9]+`)
)

// text is a string with all that varies in it replaced.
func (a *aliases) text(s string) string {
	if alias, ok := a.byKind["cluster"][s]; ok {
		return alias
	}
	long := make([]string, 0, len(a.bound))
	for raw := range a.bound {
		long = append(long, raw)
	}
	sort.Slice(long, func(i, j int) bool { return len(long[i]) > len(long[j]) })
	for _, raw := range long {
		s = strings.ReplaceAll(s, raw, a.bound[raw])
	}
	s = uuidPattern.ReplaceAllStringFunc(s, func(u string) string { return a.of("uuid", u) })
	s = portPattern.ReplaceAllString(s, "<address>")
	return timePattern.ReplaceAllStringFunc(s, func(t string) string {
		ms, err := strconv.ParseInt(t, 10, 64)
		if err != nil || ms == math.MaxInt64 || ms == math.MinInt64 {
			return t
		}
		if named := a.timestamp(ms); named != t {
			return named
		}
		return "<ms>" // A time that was computed from now.
	})
}

// fieldRule turns the value of a field into its normalised form; value is an int64 or a string.
type fieldRule func(a *aliases, value any) string

// fieldRules says, by the field's name, which values vary between runs and how they are named.
// Fields that aren't listed are compared as they are, their text through aliases.text.
func fieldRules() map[string]fieldRule {
	whenSet := func(alias string) fieldRule {
		return func(_ *aliases, v any) string {
			if n := v.(int64); n <= 0 {
				return strconv.FormatInt(n, 10)
			}
			return alias
		}
	}
	timestamp := func(a *aliases, v any) string { return a.timestamp(v.(int64)) }
	return map[string]fieldRule{
		// Addresses: the target's own are named, any other is shown.
		"Host": func(a *aliases, v any) string {
			if v.(string) == a.host {
				return "<host>"
			}
			return strconv.Quote(v.(string))
		},
		"Port": func(a *aliases, v any) string {
			if n := strconv.FormatInt(v.(int64), 10); n != a.port {
				return n
			}
			return "<port>"
		},
		"ClusterID": func(a *aliases, v any) string {
			if v.(string) == "" {
				return `""`
			}
			return a.of("cluster", v.(string))
		},
		"ProducerID": func(a *aliases, v any) string {
			if n := v.(int64); n < 0 {
				return strconv.FormatInt(n, 10)
			}
			return a.of("producer", strconv.FormatInt(v.(int64), 10))
		},
		"SessionID": func(a *aliases, v any) string {
			if v.(int64) == 0 {
				return "0"
			}
			return a.of("session", strconv.FormatInt(v.(int64), 10))
		},
		// The metadata log is busy with other cases.
		"FinalizedFeaturesEpoch": whenSet("<epoch>"),
		// The machine's disk.
		"TotalBytes": whenSet("<bytes>"), "UsableBytes": whenSet("<bytes>"),
		"Dir": func(*aliases, any) string { return "<dir>" },
		// Clock readings.
		"LogAppendTime": timestamp, "Timestamp": timestamp, "LastTimestamp": timestamp,
		"FirstTimestamp": timestamp, "MaxTimestamp": timestamp,
		"LastFetchTimestamp": timestamp, "LastCaughtUpTimestamp": timestamp,
	}
}

// typeRules are the same for one structure's field, written Type.Field.
func typeRules() map[string]fieldRule {
	some := func(_ *aliases, v any) string {
		if n := v.(int64); n < 0 {
			return strconv.FormatInt(n, 10)
		}
		return "<number>"
	}
	any16 := func(_ *aliases, v any) string {
		if n := v.(int64); n <= 0 {
			return strconv.FormatInt(n, 10)
		}
		return "<port>"
	}
	return map[string]fieldRule{
		// The metadata log moves on by itself.
		"DescribeQuorumResponseTopicPartition.HighWatermark":            some,
		"DescribeQuorumResponseTopicPartition.LeaderEpoch":              some,
		"DescribeQuorumResponseTopicPartitionReplicaState.LogEndOffset": some,
		"DescribeQuorumResponseNodeListener.Port":                       any16,
		"DescribeConfigsResponseResourceConfig.Documentation":           textLength,
	}
}

// textLength keeps of a long text only whether there is one.
func textLength(_ *aliases, v any) string {
	if v.(string) == "" {
		return `""`
	}
	return "<text>"
}
