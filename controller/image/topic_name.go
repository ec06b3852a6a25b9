package image

import (
	"strings"

	"github.com/ottla/ottla/internal/javastring"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
)

// maxTopicName is the longest topic name, in characters: the name of a partition's directory must fit.
const maxTopicName = 249

// ValidateTopicName checks a name as org.apache.kafka.common.internals.Topic does: INVALID_TOPIC_EXCEPTION
// with its text, or nil.
func ValidateTopicName(name string) error {
	why := ""
	switch {
	case name == "":
		why = "the empty string is not allowed"
	case name == ".", name == "..":
		why = "'" + name + "' is not allowed"
	case javastring.Len(name) > maxTopicName:
		why = "the length of '" + name + "' is longer than the max allowed length 249"
	case strings.ContainsFunc(name, notInTopicName):
		why = "'" + name + "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
	default:
		return nil
	}
	return kerror.New(kerr.InvalidTopicException, "Topic name is invalid: %s", why)
}

func notInTopicName(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
		return false
	}
	return true
}
