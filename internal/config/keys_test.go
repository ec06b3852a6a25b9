package config

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestKeysEqualKafka compares the tables with what Kafka 4.4.0's own ConfigDefs say
// (testdata/configdef_*.json, read off the jars): names, types, defaults, validators, importance,
// update modes and which are internal.
func TestKeysEqualKafka(t *testing.T) {
	type definition struct {
		Name, Type, Importance string
		Default, Validator     *string
		Internal               bool
		UpdateMode             string `json:"update_mode"`
	}
	for file, set := range map[string]*KeySet{
		"configdef_broker.json": BrokerKeys(), "configdef_topic.json": TopicKeys(),
		"configdef_group.json": GroupKeys(), "configdef_client_metrics.json": ClientMetricsKeys(),
	} {
		var want []definition
		readJSON(t, file, &want)
		own := 0
		if set == BrokerKeys() {
			own = len(ownBrokerKeys())
		}
		if len(want) != len(set.All())-own {
			t.Errorf("%s: %d keys and %d of our own, want %d", file, len(set.All())-own, own, len(want))
		}
		for _, w := range want {
			k := set.Lookup(w.Name)
			if k == nil {
				t.Errorf("%s: %s is missing", file, w.Name)
				continue
			}
			if k.Type.String() != w.Type || k.Importance.String() != w.Importance || k.Internal != w.Internal {
				t.Errorf("%s: %s is %v %v internal=%v, want %+v", file, w.Name, k.Type, k.Importance, k.Internal, w)
			}
			if w.UpdateMode != "" && k.UpdateMode.String() != w.UpdateMode {
				t.Errorf("%s: %s is %v, want %v", file, w.Name, k.UpdateMode, w.UpdateMode)
			}
			switch {
			case w.Default == nil:
				if k.HasDefault || k.Required {
					t.Errorf("%s: %s has a default, want null", file, w.Name)
				}
			case *w.Default == "<no default>":
				if !k.Required {
					t.Errorf("%s: %s isn't required", file, w.Name)
				}
			case !k.HasDefault || k.Default != *w.Default:
				t.Errorf("%s: default of %s is %q, want %q", file, w.Name, k.Default, *w.Default)
			}
			if got := describeValidator(k); (w.Validator == nil) != (got == nil) || got != nil && *got != *w.Validator {
				t.Errorf("%s: validator of %s is %v, want %v", file, w.Name, text(got), text(w.Validator))
			}
		}
	}
}

func describeValidator(k *Key) *string {
	if k.Validator == nil {
		return nil
	}
	s := k.Validator.String()
	return &s
}

func text(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// TestDefaultsPassTheirValidators shows that every default parses; a bad one would panic at use.
func TestDefaultsPassTheirValidators(t *testing.T) {
	for _, set := range []*KeySet{BrokerKeys(), TopicKeys(), GroupKeys(), ClientMetricsKeys()} {
		for i := range set.All() {
			k := &set.All()[i]
			if !k.HasDefault {
				continue
			}
			if v, err := k.Parse(&k.Default); err != nil || *k.Format(v) != k.Default {
				t.Errorf("default of %s: %v, %v", k.Name, v, err)
			}
			for _, s := range k.Synonyms {
				if BrokerKeys().Lookup(s.Name) == nil {
					t.Errorf("synonym %s of %s is no broker key", s.Name, k.Name)
				}
			}
		}
	}
}

// TestParseEqualsKafka replays values through Key.Parse; testdata/values.tsv holds what
// ConfigDef.parseValue of Kafka 4.4.0 said to them: set, key, value, ok|err, canonical text or
// exception and message.
func TestParseEqualsKafka(t *testing.T) {
	f, err := os.Open(filepath.Join("testdata", "values.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sets := map[string]*KeySet{"broker": BrokerKeys(), "topic": TopicKeys(), "group": GroupKeys()}
	unescape := strings.NewReplacer(`\t`, "\t", `\n`, "\n")
	lines := bufio.NewScanner(f)
	count := 0
	for lines.Scan() {
		c := strings.Split(lines.Text(), "\t")
		k := sets[c[0]].Lookup(c[1])
		value := unescape.Replace(c[2])
		in := &value
		if value == "<null>" {
			in = nil
		}
		v, err := k.Parse(in)
		want := c[len(c)-1]
		switch {
		case c[3] == "err":
			if err == nil || err.Error() != want {
				t.Errorf("%s=%q: error %v, want %s", c[1], c[2], err, want)
			}
		case err != nil:
			t.Errorf("%s=%q: error %v, want %q", c[1], c[2], err, want)
		case want == "<null>":
			if !v.Null {
				t.Errorf("%s=%q: %v, want null", c[1], c[2], v)
			}
		case want == "[hidden]":
		default:
			if got := text(k.Format(v)); got != want {
				t.Errorf("%s=%q: %q, want %q", c[1], c[2], got, want)
			}
		}
		count++
	}
	if lines.Err() != nil || count < 100 {
		t.Errorf("%d values read: %v", count, lines.Err())
	}
}
