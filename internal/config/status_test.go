package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite-status", false, "write docs/config-status.md anew")

// TestEffectiveKeysAreDocumented holds docs/config-status.md equal to the Effective marks: run with
// -rewrite-status after changing them. It also finds names in the lists that are no keys.
func TestEffectiveKeysAreDocumented(t *testing.T) {
	for _, l := range []struct {
		set   *KeySet
		names []string
	}{{BrokerKeys(), effectiveBrokerKeys()}, {TopicKeys(), effectiveTopicKeys()}, {GroupKeys(), effectiveGroupKeys()}} {
		for i, name := range l.names {
			if l.set.Lookup(name) == nil || i > 0 && name <= l.names[i-1] {
				t.Errorf("%s is no key or out of order", name)
			}
		}
	}
	var b strings.Builder
	b.WriteString("# Configuration keys without effect yet\n\nAll keys of Apache Kafka 4.4.0 are accepted, checked and described. " +
		"Setting one of these changes nothing so far;\na key in the file that is listed here is named in one warning at start.\n")
	for _, part := range []struct {
		title string
		set   *KeySet
	}{{"Broker", BrokerKeys()}, {"Topic", TopicKeys()}, {"Group", GroupKeys()}, {"Client metrics", ClientMetricsKeys()}} {
		b.WriteString("\n## " + part.title + "\n\n")
		for i := range part.set.All() {
			if k := &part.set.All()[i]; !k.Effective {
				b.WriteString("- `" + k.Name + "`\n")
			}
		}
	}
	b.WriteString("\n## Broker, in effect after a restart only\n\nKafka changes these while it runs. As dynamic settings the first " +
		"two are refused with INVALID_REQUEST; the others are\naccepted, named in a warning, and don't count: set them in the file.\n\n")
	for _, name := range restartKeys() {
		b.WriteString("- `" + name + "`\n")
	}
	b.WriteString("\n## Broker, Ottla's own\n\nKafka doesn't have these. DescribeConfigs lists them only where they are set; see [disk-full.md](disk-full.md).\n\n")
	for _, k := range ownBrokerKeys() {
		b.WriteString("- `" + k.name + "` (" + k.typ.String() + ", default " + k.def + ", " + k.mode.String() + ")\n")
	}
	path := filepath.Join("..", "..", "docs", "config-status.md")
	if *rewrite {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Error("docs/config-status.md differs from the keys' Effective marks; run go test ./internal/config -rewrite-status")
	}
}
