package diff

// unordered lists the lists whose order carries no meaning and, in Kafka, follows the hash of names
// that are fresh in each run or the scheduling of threads. Their elements are addressed by the named
// fields instead of by index, and are shown in the order of these. All other lists are compared in order.
func unordered() map[string][]string {
	return map[string][]string{
		// Kafka keeps these in hash maps and hash sets.
		"ApiVersionsResponse.ApiKeys":                 {"ApiKey"},
		"ApiVersionsResponse.SupportedFeatures":       {"Name"},
		"ApiVersionsResponse.FinalizedFeatures":       {"Name"},
		"MetadataResponse.Topics":                     {"Topic", "TopicID"},
		"MetadataResponseTopic.Partitions":            {"Partition"},
		"CreateTopicsResponse.Topics":                 {"Topic"},
		"CreateTopicsResponseTopic.Configs":           {"Name"},
		"DeleteTopicsResponse.Topics":                 {"Topic", "TopicID"},
		"CreatePartitionsResponse.Topics":             {"Topic"},
		"DeleteRecordsResponse.Topics":                {"Topic"},
		"DeleteRecordsResponseTopic.Partitions":       {"Partition"},
		"DescribeConfigsResponse.Resources":           {"ResourceType", "ResourceName"},
		"DescribeConfigsResponseResource.Configs":     {"Name"},
		"AlterConfigsResponse.Resources":              {"ResourceType", "ResourceName"},
		"IncrementalAlterConfigsResponse.Resources":   {"ResourceType", "ResourceName"},
		"ListConfigResourcesResponse.ConfigResources": {"Type", "Name"},
		"AlterReplicaLogDirsResponse.Topics":          {"Topic"},
		"AlterReplicaLogDirsResponseTopic.Partitions": {"Partition"},
		"DescribeLogDirsResponseDir.Topics":           {"Topic"},
		"DescribeLogDirsResponseDirTopic.Partitions":  {"Partition"},
		"ListOffsetsResponseTopic.Partitions":         {"Partition"},
		"DescribeGroupsResponse.Groups":               {"Group"},
		"ListOffsetsResponse.Topics":                  {"Topic"},
		"ListGroupsResponse.Groups":                   {"Group"},
		"JoinGroupResponse.Members":                   {"MemberID"},
		"DescribeGroupsResponseGroup.Members":         {"MemberID"},
		"DeleteGroupsResponse.Groups":                 {"Group"},
		// Kafka puts the partitions that it refuses itself before those that the coordinator answers for.
		"OffsetCommitResponseTopic.Partitions":                    {"Partition"},
		"OffsetFetchResponse.Topics":                              {"Topic"},
		"OffsetFetchResponseTopic.Partitions":                     {"Partition"},
		"OffsetFetchResponseGroup.Topics":                         {"Topic", "TopicID"},
		"OffsetFetchResponseGroupTopic.Partitions":                {"Partition"},
		"DescribeProducersResponseTopicPartition.ActiveProducers": {"ProducerID"},
		"ElectLeadersResponse.Topics":                             {"Topic"},
		"ElectLeadersResponseTopic.Partitions":                    {"Partition"},
		"ProduceResponse.Topics":                                  {"Topic", "TopicID"},
		"ProduceResponseTopic.Partitions":                         {"Partition"},
		"DescribeUserSCRAMCredentialsResponse.Results":            {"User"},
	}
}

// foreign are lists that tell of the whole cluster. Elements whose named field is none of the case's
// own names are dropped, since other cases are at work.
func foreign() map[string]string {
	return map[string]string{
		"MetadataResponse.Topics":                     "Topic",
		"ListGroupsResponse.Groups":                   "Group",
		"ListConfigResourcesResponse.ConfigResources": "Name",
		"DescribeLogDirsResponseDir.Topics":           "Topic",
		"ElectLeadersResponse.Topics":                 "Topic",
		"ListPartitionReassignmentsResponse.Topics":   "Topic",
	}
}
