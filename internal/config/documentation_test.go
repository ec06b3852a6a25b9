package config

import (
	"strings"
	"testing"
)

// A sentence for a key that doesn't exist is a sentence for none: a mistyped name, or a key that Kafka has dropped.
func TestDocumentationIsOfKnownKeys(t *testing.T) {
	for name, text := range documentation() {
		if BrokerKeys().Lookup(name) == nil && TopicKeys().Lookup(name) == nil && lookupBroker(name) == nil {
			t.Errorf("%s is no key", name)
		}
		if !strings.HasSuffix(strings.TrimSuffix(text, "..."), ".") && !strings.HasSuffix(text, "...") {
			t.Errorf("%s: %q is no sentence", name, text)
		}
	}
}

func TestDocumentation(t *testing.T) {
	if Documentation("retention.ms") == "" || Documentation("log.retention.hours") != Documentation("retention.ms") {
		t.Errorf("retention.ms %q, log.retention.hours %q", Documentation("retention.ms"), Documentation("log.retention.hours"))
	}
	if text := Documentation("no.such.key"); text != "" {
		t.Errorf("no.such.key: %q", text)
	}
}
