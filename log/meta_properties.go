package commitlog

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/uuid"
)

// metaPropertiesFile says in each log dir whom it belongs to, in version 1 of Kafka's format, a
// Java properties file.
const metaPropertiesFile = "meta.properties"

// metaProperties is the content of a meta.properties file.
type metaProperties struct {
	// nodeID is -1, clusterID empty and directoryID zero if the file doesn't say.
	nodeID      int32
	clusterID   string
	directoryID [16]byte
}

// formatMetaProperties writes a file with the keys in the order of the alphabet, as Kafka does.
func formatMetaProperties(p metaProperties, now time.Time) []byte {
	return fmt.Appendf(nil, "#\n#%s\ncluster.id=%s\ndirectory.id=%s\nnode.id=%d\nversion=1\n",
		now.UTC().Format("Mon Jan 02 15:04:05 MST 2006"), p.clusterID, uuid.Format(p.directoryID), p.nodeID)
}

// parseMetaProperties reads versions 0 (which has broker.id) and 1.
func parseMetaProperties(file []byte) (metaProperties, error) {
	p := metaProperties{nodeID: -1}
	fields := map[string]string{}
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		at := strings.IndexAny(line, "=:")
		if at < 0 {
			return p, fmt.Errorf("malformed line %.60q", line)
		}
		// Java's writer escapes these; none of our values has another special character.
		value := strings.NewReplacer(`\=`, "=", `\:`, ":").Replace(strings.TrimSpace(line[at+1:]))
		fields[strings.TrimSpace(line[:at])] = value
	}
	id, known := fields["node.id"]
	switch v := fields["version"]; v {
	case "0":
		if id, known = fields["broker.id"]; !known {
			id, known = fields["node.id"]
		}
	case "1":
		if !known {
			return p, fmt.Errorf("node.id is missing")
		}
	default:
		return p, fmt.Errorf("version %.20q unknown", v)
	}
	if known {
		n, err := strconv.ParseInt(id, 10, 32)
		if err != nil || n < 0 {
			return p, fmt.Errorf("node.id %.20q is not a number", id)
		}
		p.nodeID = int32(n)
	}
	p.clusterID = fields["cluster.id"]
	if d, ok := fields["directory.id"]; ok {
		var err error
		if p.directoryID, err = uuid.Parse(d); err != nil {
			return p, fmt.Errorf("directory.id: %w", err)
		}
	}
	return p, nil
}

// check compares the file with what the broker is configured to be.
func (p metaProperties) check(dir string, nodeID int32, clusterID string) error {
	file := path.Join(dir, metaPropertiesFile)
	if p.nodeID >= 0 && p.nodeID != nodeID {
		return fmt.Errorf("the configured node.id %d is not the node.id %d in %s: "+
			"the directory belongs to another broker", nodeID, p.nodeID, file)
	}
	if clusterID != "" && p.clusterID != "" && p.clusterID != clusterID {
		return fmt.Errorf("the cluster id %s is not the cluster.id %s in %s: "+
			"the directory belongs to another cluster", clusterID, p.clusterID, file)
	}
	return nil
}
