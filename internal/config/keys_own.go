package config

import (
	"slices"
	"strings"
)

// ownBrokerKeys are the broker keys that Kafka doesn't have. They are internal in Kafka's sense, so that
// DescribeConfigs lists them only where they are set and stock tools see no keys that they don't know.
func ownBrokerKeys() []keyRow {
	return []keyRow{
		{"log.dir.min.free.bytes", TypeLong, "-1", atLeast(-1), High, PerBroker, internal},
	}
}

// withOwn adds our keys to the rows of Kafka's, by name.
func withOwn(rows []keyRow) []keyRow {
	rows = append(rows, ownBrokerKeys()...)
	slices.SortFunc(rows, func(a, b keyRow) int { return strings.Compare(a.name, b.name) })
	return rows
}
