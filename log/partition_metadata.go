package commitlog

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// partitionMetadataFile keeps the topic's id in a partition's directory (KIP-516):
//
//	version: 0
//	topic_id: 4fXz0bMnQ5O0xjZ2hGLH9Q
const partitionMetadataFile = "partition.metadata"

// FormatUUID writes an id as Kafka does: base64 with the alphabet for URLs, without padding.
func FormatUUID(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// ParseUUID reads what FormatUUID wrote.
func ParseUUID(s string) (id [16]byte, err error) {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%.40q is not a uuid", s)
	}
	return [16]byte(b), nil
}

func formatPartitionMetadata(topicID [16]byte) []byte {
	return []byte("version: 0\ntopic_id: " + FormatUUID(topicID))
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
	topicID, err = ParseUUID(fields["topic_id"])
	if err != nil {
		return topicID, fmt.Errorf("topic_id: %w", err)
	}
	if topicID == [16]byte{} {
		return topicID, fmt.Errorf("topic_id is zero")
	}
	return topicID, nil
}
