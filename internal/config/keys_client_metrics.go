package config

// clientMetricsKeyTable is the keys of ClientMetricsConfigs in Kafka 4.4.0, by name.
func clientMetricsKeyTable() []Key {
	return buildKeys([]keyRow{
		{"interval.ms", TypeInt, "300000", nil, Medium, ClusterWide, 0},
		{"match", TypeList, "", listOf{}, Medium, ClusterWide, 0},
		{"metrics", TypeList, "", listOf{}, Medium, ClusterWide, 0},
	})
}
