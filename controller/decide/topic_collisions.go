package decide

import (
	"strings"

	"github.com/ottla/ottla/controller/image"
)

// clusterMetadataTopic can't be created: it is the name of the metadata log.
const clusterMetadataTopic = "__cluster_metadata"

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
