package image

import (
	"slices"
	"strings"
)

// Feature is a finalized feature level. A feature at level 0 isn't listed.
type Feature struct {
	Name  string
	Level int16
}

// MetadataVersion is the name of the feature that gates metadata records.
const MetadataVersion = "metadata.version"

// Names of the features that this version knows, beside MetadataVersion.
const (
	EligibleLeaderReplicasVersion = "eligible.leader.replicas.version"
	GroupVersion                  = "group.version"
	KRaftVersion                  = "kraft.version"
	ShareVersion                  = "share.version"
	StreamsVersion                = "streams.version"
	TransactionVersion            = "transaction.version"
)

// SupportedFeatures are the features of Kafka 4.4.0 with the levels that a node of this version can
// be raised to, in the order in which Kafka tells of them. Those of protocols that aren't served stay at 0, so that clients choose the
// classic ones: group.version (KIP-848), transaction.version (KIP-890), share.version (KIP-932) and
// streams.version (KIP-1071). Nodes send this list with their registrations.
func SupportedFeatures() []FeatureRange {
	return []FeatureRange{
		{Name: GroupVersion, Min: 0, Max: 0},
		{Name: KRaftVersion, Min: 0, Max: 1},
		{Name: MetadataVersion, Min: 7, Max: 33},
		{Name: ShareVersion, Min: 0, Max: 0},
		{Name: StreamsVersion, Min: 0, Max: 0},
		{Name: TransactionVersion, Min: 0, Max: 0},
		{Name: EligibleLeaderReplicasVersion, Min: 0, Max: 1},
	}
}

// EffectiveFeatureLevel is FeatureLevel, but no higher than this version supports: a cluster is
// bootstrapped at Kafka's levels, of which protocols that aren't served yet don't take part.
func (m *Image) EffectiveFeatureLevel(name string) int16 {
	level := m.FeatureLevel(name)
	for _, f := range SupportedFeatures() {
		if f.Name == name {
			return min(level, f.Max)
		}
	}
	return 0
}

// Features are the finalized feature levels by name. Borrowed: not to be changed.
func (m *Image) Features() []Feature { return m.features }

// FeatureLevel is the finalized level of a feature, 0 if there is none.
func (m *Image) FeatureLevel(name string) int16 {
	i, ok := slices.BinarySearchFunc(m.features, name, func(f Feature, name string) int {
		return strings.Compare(f.Name, name)
	})
	if !ok {
		return 0
	}
	return m.features[i].Level
}
