package decide

import (
	"strings"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
)

const (
	// maxTopicName is the longest topic name, in characters.
	maxTopicName = 249
	// clusterMetadataTopic can't be created: it is the name of the metadata log.
	clusterMetadataTopic = "__cluster_metadata"
)

// validateTopicName checks a name as org.apache.kafka.common.internals.Topic does.
func validateTopicName(name string) error {
	why := ""
	switch {
	case name == "":
		why = "the empty string is not allowed"
	case name == ".", name == "..":
		why = "'" + name + "' is not allowed"
	case utf16Length(name) > maxTopicName:
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

// utf16Length is the length of a string as Java counts it.
func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		if r > 0xffff {
			n++
		}
		n++
	}
	return n
}

// collisions finds topics whose names differ in '.' and '_' only; metrics' names can't tell them
// apart. It looks at the image once, when it is first needed.
type collisions struct {
	image  *image.Image
	byForm map[string]string
}

// with returns the first existing topic that a name collides with.
func (c *collisions) with(name string) (string, bool) {
	if !strings.ContainsAny(name, "._") {
		return "", false
	}
	if c.byForm == nil {
		c.byForm = map[string]string{}
		for t := range c.image.Topics() {
			if form := collisionForm(t.Name); strings.Contains(form, "_") {
				if _, ok := c.byForm[form]; !ok {
					c.byForm[form] = t.Name
				}
			}
		}
	}
	other, ok := c.byForm[collisionForm(name)]
	return other, ok
}

func collisionForm(name string) string { return strings.ReplaceAll(name, ".", "_") }
