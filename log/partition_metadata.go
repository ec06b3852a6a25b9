package commitlog

import (
	"fmt"
	"strings"

	"github.com/ottla/ottla/internal/uuid"
)

// partitionMetadataFile keeps the topic's id in a partition's directory (KIP-516):
//
//	version: 0
//	topic_id: 4fXz0bMnQ5O0xjZ2hGLH9Q
const partitionMetadataFile = "partition.metadata"

func formatPartitionMetadata(topicID [16]byte) []byte {
	return []byte("version: 0\ntopic_id: " + uuid.Format(topicID))
}

// parsePartitionMetadata reads the topic id.
func parsePartitionMetadata(file []byte) (topicID [16]byte, err error) {
	fields := map[string]string{}
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			return topicID, fmt.Errorf("malformed line %.60q", line)
		}
		fields[key] = strings.TrimSpace(value)
	}
	if v, ok := fields["version"]; !ok || v != "0" {
		return topicID, fmt.Errorf("version %.20q unknown", v)
	}
	topicID, err = uuid.Parse(fields["topic_id"])
	if err != nil {
		return topicID, fmt.Errorf("topic_id: %w", err)
	}
	if topicID == [16]byte{} {
		return topicID, fmt.Errorf("topic_id is zero")
	}
	return topicID, nil
}
