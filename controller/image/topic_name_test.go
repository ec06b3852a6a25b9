package image

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestValidateTopicName has names that Kafka takes and refuses; lengths count characters as Java does.
func TestValidateTopicName(t *testing.T) {
	for _, name := range []string{"a", "A.b_c-9", "...", strings.Repeat("a", 249)} {
		if err := ValidateTopicName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	const characters = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
	for _, tc := range []struct{ name, why string }{
		{"", "the empty string is not allowed"},
		{".", "'.' is not allowed"},
		{"..", "'..' is not allowed"},
		{"a b", "'a b' " + characters},
		{strings.Repeat("é", 249), "'" + strings.Repeat("é", 249) + "' " + characters},
		{strings.Repeat("a", 250), "the length of '" + strings.Repeat("a", 250) + "' is longer than the max allowed length 249"},
		{strings.Repeat("😀", 125), "the length of '" + strings.Repeat("😀", 125) + "' is longer than the max allowed length 249"},
	} {
		err := ValidateTopicName(tc.name)
		if !errors.Is(err, kerr.InvalidTopicException) || !strings.Contains(err.Error(), "Topic name is invalid: "+tc.why) {
			t.Errorf("%q: %v", tc.name, err)
		}
	}
}
