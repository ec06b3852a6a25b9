package config

import "strconv"

// OffsetsTopic is the internal topic of groups and their offsets.
const OffsetsTopic = "__consumer_offsets"

// Setting is one explicit setting of a resource.
type Setting struct{ Name, Value string }

// OffsetsTopicSettings is what __consumer_offsets is created with besides its counts, whoever asks for it
// first: GroupCoordinatorService.groupMetadataTopicConfigs.
func (b *Broker) OffsetsTopicSettings() []Setting {
	return []Setting{
		{"cleanup.policy", "compact"},
		{"compression.type", "producer"},
		{"segment.bytes", strconv.Itoa(int(b.Offsets.TopicSegmentBytes))},
	}
}

// ClampReplicas keeps the replication factor of an internal topic within the live brokers, so that a small
// cluster works with Kafka's defaults; with none alive it is left as it is.
func ClampReplicas(factor int16, live int) int16 {
	if live <= 0 || int(factor) <= live {
		return factor
	}
	return int16(live)
}
