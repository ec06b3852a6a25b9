package config

import (
	"maps"
	"strings"
	"testing"
)

// TestLoadProperties reads what java.util.Properties accepts.
func TestLoadProperties(t *testing.T) {
	got := parseFile(t, strings.Join([]string{
		"# comment", "! comment", "", "a=1", "b : 2", "c 3", "  d = 4 ", `e=x\`, "   y", `f=\u00e9\t|`, "g=${a}", "h", "i=", "a=5",
		`j=C\:\\x`, "k==v", "l=a=b", "m=é",
	}, "\n"))
	want := map[string]string{
		"a": "5", "b": "2", "c": "3", "d": "4 ", "e": "xy", "f": "é\t|", "g": "${a}", "h": "", "i": "",
		"j": `C:\x`, "k": "=v", "l": "a=b", "m": "é",
	}
	if !maps.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	if _, err := LoadProperties(strings.NewReader(strings.Repeat("#", maxFileBytes+1))); err == nil {
		t.Error("an endless file is accepted")
	}
}

// FuzzLoadProperties shows that no file makes the loader fail in any way but with an error, and that
// whatever loads can be described.
func FuzzLoadProperties(f *testing.F) {
	f.Add("a=b\nlisteners=PLAINTEXT://:1")
	f.Add("listener.name.x.y=1\nmax.connections.per.ip.overrides=:")
	f.Add("controller.quorum.voters=1@[::1]:1\nlog.retention.ms=-1")
	f.Fuzz(func(t *testing.T, file string) {
		m, err := LoadProperties(strings.NewReader(file))
		if err != nil {
			return
		}
		b, _, err := Load(m)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		if len(b.DescribeBroker()) < 350 || len(b.DescribeTopic(nil)) != 37 {
			t.Error("rows are missing")
		}
	})
}

// FuzzParse parses any text as any key; what is accepted must come back from its own canonical text.
func FuzzParse(f *testing.F) {
	f.Add(uint16(0), "1")
	f.Add(uint16(3), "by_duration:PT1S")
	f.Fuzz(func(t *testing.T, n uint16, text string) {
		for _, set := range []*KeySet{BrokerKeys(), TopicKeys(), GroupKeys()} {
			k := &set.All()[int(n)%len(set.All())]
			v, err := k.Parse(&text)
			if err != nil {
				continue
			}
			canonical := k.Format(v)
			again, err := k.Parse(canonical)
			if err != nil || *k.Format(again) != *canonical {
				t.Errorf("%s: %q became %q, then %v, %v", k.Name, text, *canonical, again, err)
			}
		}
	})
}

// TestFromEnviron reads an environment as the official container image does.
func TestFromEnviron(t *testing.T) {
	got := FromEnviron([]string{
		"KAFKA_NODE_ID=1", "KAFKA_LISTENERS=PLAINTEXT://:1=2", "KAFKA_A__B=u", "KAFKA_A___B=d", "KAFKA_A____B=both",
		"KAFKA_HEAP_OPTS=-Xmx1g", "KAFKA_OPTS=x", "PATH=/bin", "KAFKA_=x", "kafka_x=y", "CLUSTER_ID=abc",
	})
	want := map[string]string{"node.id": "1", "listeners": "PLAINTEXT://:1=2", "a_b": "u", "a-b": "d", "a-.b": "both"}
	if !maps.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

// TestParseOverride cuts at the first equals sign.
func TestParseOverride(t *testing.T) {
	if k, v, err := ParseOverride(" a.b =c=d"); k != "a.b" || v != "c=d" || err != nil {
		t.Error(k, v, err)
	}
	for _, bad := range []string{"", "a", "=b"} {
		if _, _, err := ParseOverride(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
