package handlers

import (
	"strings"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
)

// maxTopicName is the longest name of a topic: a directory's name with the partition must fit.
const maxTopicName = 249

// checkTopicName is Kafka's Topic.validate: INVALID_TOPIC_EXCEPTION with its text, or nil.
func checkTopicName(name string) error {
	legal := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
	}
	reason := ""
	switch {
	case name == "":
		reason = "the empty string is not allowed"
	case name == "." || name == "..":
		reason = "'" + name + "' is not allowed"
	case len(name) > maxTopicName:
		reason = "the length of '" + name + "' is longer than the max allowed length 249"
	case strings.ContainsFunc(name, func(r rune) bool { return !legal(r) }):
		reason = "'" + name + "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
	default:
		return nil
	}
	return kerror.New(kerr.InvalidTopicException, "Topic name is invalid: %s", reason)
}
