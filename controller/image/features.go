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
