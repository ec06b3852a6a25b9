package wire

import "strconv"

// Role is a set of the roles that a listener serves.
type Role uint8

const (
	// RoleBroker is what clients talk to.
	RoleBroker Role = 1 << iota
	// RoleController is what brokers and controllers talk to.
	RoleController
)

// API is a row of the protocol's table.
type API struct {
	Key  int16
	Name string
	// Min and Max are the versions that can be served.
	Min, Max int16
}

// apiRow is a row of the table of Kafka 4.4.0, stable versions only.
type apiRow struct {
	key  int16
	name string
	// min is the lowest version that can be served, advertised the lowest that ApiVersions tells
	// of: Kafka tells of Produce 0 to 2, which it refuses, since librdkafka before 2.12 gives up on a
	// broker that doesn't (KIP-896).
	min, advertised, max int16
	// flexible is the first version with compact lengths and tagged fields; -1 if there is none.
	flexible int16
	roles    Role
}

// apiRows is constant data; never written.
var apiRows = [...]apiRow{
	{0, "Produce", 3, 0, 13, 9, RoleBroker},
	{1, "Fetch", 4, 4, 18, 12, RoleBroker | RoleController},
	{2, "ListOffsets", 1, 1, 11, 6, RoleBroker},
	{3, "Metadata", 0, 0, 13, 9, RoleBroker},
	{8, "OffsetCommit", 2, 2, 10, 8, RoleBroker},
	{9, "OffsetFetch", 1, 1, 10, 6, RoleBroker},
	{10, "FindCoordinator", 0, 0, 6, 3, RoleBroker},
	{11, "JoinGroup", 0, 0, 9, 6, RoleBroker},
	{12, "Heartbeat", 0, 0, 4, 4, RoleBroker},
	{13, "LeaveGroup", 0, 0, 5, 4, RoleBroker},
	{14, "SyncGroup", 0, 0, 5, 4, RoleBroker},
	{15, "DescribeGroups", 0, 0, 6, 5, RoleBroker},
	{16, "ListGroups", 0, 0, 5, 3, RoleBroker},
	{17, "SaslHandshake", 0, 0, 1, -1, RoleBroker | RoleController},
	{18, "ApiVersions", 0, 0, 5, 3, RoleBroker | RoleController},
	{19, "CreateTopics", 2, 2, 7, 5, RoleBroker | RoleController},
	{20, "DeleteTopics", 1, 1, 6, 4, RoleBroker | RoleController},
	{21, "DeleteRecords", 0, 0, 2, 2, RoleBroker},
	{22, "InitProducerId", 0, 0, 5, 2, RoleBroker},
	{23, "OffsetForLeaderEpoch", 2, 2, 4, 4, RoleBroker},
	{24, "AddPartitionsToTxn", 0, 0, 5, 3, RoleBroker},
	{25, "AddOffsetsToTxn", 0, 0, 4, 3, RoleBroker},
	{26, "EndTxn", 0, 0, 5, 3, RoleBroker},
	{27, "WriteTxnMarkers", 1, 1, 2, 1, RoleBroker},
	{28, "TxnOffsetCommit", 0, 0, 6, 3, RoleBroker},
	{29, "DescribeAcls", 1, 1, 3, 2, RoleBroker | RoleController},
	{30, "CreateAcls", 1, 1, 3, 2, RoleBroker | RoleController},
	{31, "DeleteAcls", 1, 1, 3, 2, RoleBroker | RoleController},
	{32, "DescribeConfigs", 1, 1, 4, 4, RoleBroker | RoleController},
	{33, "AlterConfigs", 0, 0, 2, 2, RoleBroker | RoleController},
	{34, "AlterReplicaLogDirs", 1, 1, 2, 2, RoleBroker},
	{35, "DescribeLogDirs", 1, 1, 5, 2, RoleBroker},
	{36, "SaslAuthenticate", 0, 0, 2, 2, RoleBroker | RoleController},
	{37, "CreatePartitions", 0, 0, 3, 2, RoleBroker | RoleController},
	{38, "CreateDelegationToken", 1, 1, 3, 2, RoleBroker | RoleController},
	{39, "RenewDelegationToken", 1, 1, 2, 2, RoleBroker | RoleController},
	{40, "ExpireDelegationToken", 1, 1, 2, 2, RoleBroker | RoleController},
	{41, "DescribeDelegationToken", 1, 1, 3, 2, RoleBroker | RoleController},
	{42, "DeleteGroups", 0, 0, 3, 2, RoleBroker},
	{43, "ElectLeaders", 0, 0, 2, 2, RoleBroker | RoleController},
	{44, "IncrementalAlterConfigs", 0, 0, 1, 1, RoleBroker | RoleController},
	{45, "AlterPartitionReassignments", 0, 0, 1, 0, RoleBroker | RoleController},
	{46, "ListPartitionReassignments", 0, 0, 0, 0, RoleBroker | RoleController},
	{47, "OffsetDelete", 0, 0, 0, -1, RoleBroker},
	{48, "DescribeClientQuotas", 0, 0, 1, 1, RoleBroker},
	{49, "AlterClientQuotas", 0, 0, 1, 1, RoleBroker | RoleController},
	{50, "DescribeUserScramCredentials", 0, 0, 0, 0, RoleBroker | RoleController},
	{51, "AlterUserScramCredentials", 0, 0, 0, 0, RoleBroker | RoleController},
	{52, "Vote", 0, 0, 2, 0, RoleController},
	{53, "BeginQuorumEpoch", 0, 0, 1, 1, RoleController},
	{54, "EndQuorumEpoch", 0, 0, 1, 1, RoleController},
	{55, "DescribeQuorum", 0, 0, 2, 0, RoleBroker | RoleController},
	{56, "AlterPartition", 2, 2, 3, 2, RoleController},
	{57, "UpdateFeatures", 0, 0, 2, 0, RoleBroker | RoleController},
	{58, "Envelope", 0, 0, 0, 0, RoleController},
	{59, "FetchSnapshot", 0, 0, 1, 0, RoleController},
	{60, "DescribeCluster", 0, 0, 2, 0, RoleBroker | RoleController},
	{61, "DescribeProducers", 0, 0, 0, 0, RoleBroker},
	{62, "BrokerRegistration", 0, 0, 4, 0, RoleController},
	{63, "BrokerHeartbeat", 0, 0, 2, 0, RoleController},
	{64, "UnregisterBroker", 0, 0, 0, 0, RoleBroker | RoleController},
	{65, "DescribeTransactions", 0, 0, 0, 0, RoleBroker},
	{66, "ListTransactions", 0, 0, 2, 0, RoleBroker},
	{67, "AllocateProducerIds", 0, 0, 0, 0, RoleController},
	{68, "ConsumerGroupHeartbeat", 0, 0, 1, 0, RoleBroker},
	{69, "ConsumerGroupDescribe", 0, 0, 1, 0, RoleBroker},
	{70, "ControllerRegistration", 0, 0, 0, 0, RoleController},
	{71, "GetTelemetrySubscriptions", 0, 0, 0, 0, RoleBroker},
	{72, "PushTelemetry", 0, 0, 0, 0, RoleBroker},
	{73, "AssignReplicasToDirs", 0, 0, 0, 0, RoleController},
	{74, "ListConfigResources", 0, 0, 1, 0, RoleBroker},
	{75, "DescribeTopicPartitions", 0, 0, 0, 0, RoleBroker},
	{76, "ShareGroupHeartbeat", 1, 1, 1, 1, RoleBroker},
	{77, "ShareGroupDescribe", 1, 1, 1, 1, RoleBroker},
	{78, "ShareFetch", 1, 1, 2, 1, RoleBroker},
	{79, "ShareAcknowledge", 1, 1, 2, 1, RoleBroker},
	{80, "AddRaftVoter", 0, 0, 1, 0, RoleBroker | RoleController},
	{81, "RemoveRaftVoter", 0, 0, 0, 0, RoleBroker | RoleController},
	{82, "UpdateRaftVoter", 0, 0, 0, 0, RoleController},
	{83, "InitializeShareGroupState", 0, 0, 0, 0, RoleBroker},
	{84, "ReadShareGroupState", 0, 0, 0, 0, RoleBroker},
	{85, "WriteShareGroupState", 0, 0, 1, 0, RoleBroker},
	{86, "DeleteShareGroupState", 0, 0, 0, 0, RoleBroker},
	{87, "ReadShareGroupStateSummary", 0, 0, 1, 0, RoleBroker},
	{88, "StreamsGroupHeartbeat", 0, 0, 1, 0, RoleBroker},
	{89, "StreamsGroupDescribe", 0, 0, 1, 0, RoleBroker},
	{90, "DescribeShareGroupOffsets", 0, 0, 1, 0, RoleBroker},
	{91, "AlterShareGroupOffsets", 0, 0, 0, 0, RoleBroker},
	{92, "DeleteShareGroupOffsets", 0, 0, 0, 0, RoleBroker},
	{93, "StreamsGroupTopologyDescriptionUpdate", 0, 0, 0, 0, RoleBroker},
	{94, "UnregisterController", 0, 0, 0, 0, RoleBroker | RoleController},
}

// apiIndex maps key to row+1; constant data built from apiRows, never written after.
var apiIndex = func() (index [maxAPIKey + 1]uint8) {
	for i, r := range apiRows {
		index[r.key] = uint8(i + 1)
	}
	return index
}()

// maxAPIKey is the highest key of the table.
const maxAPIKey = 94

const (
	keyProduce     = 0
	keyFetch       = 1
	keyApiVersions = 18
)

// rowOf is the row of a key, or nil if the key is unknown.
func rowOf(key int16) *apiRow {
	if key < 0 || key > maxAPIKey || apiIndex[key] == 0 {
		return nil
	}
	return &apiRows[apiIndex[key]-1]
}

// LookupAPI is what Kafka 4.4.0 knows of an API; false for an unknown or removed key.
func LookupAPI(key int16) (API, bool) {
	r := rowOf(key)
	if r == nil {
		return API{}, false
	}
	return API{Key: r.key, Name: r.name, Min: r.min, Max: r.max}, true
}

// APIs lists the APIs of the given roles in order of their keys, as they can be served.
func APIs(roles Role) []API {
	var apis []API
	for i := range apiRows {
		if r := &apiRows[i]; r.roles&roles != 0 {
			apis = append(apis, API{Key: r.key, Name: r.name, Min: r.min, Max: r.max})
		}
	}
	return apis
}

// AdvertisedMin is the lowest version of an API that ApiVersions tells of, which for Produce is
// lower than what is served.
func AdvertisedMin(key int16) int16 {
	if r := rowOf(key); r != nil {
		return r.advertised
	}
	return -1
}

// IsFlexible says whether a version of an API has compact lengths and tagged fields.
func IsFlexible(key, version int16) bool {
	r := rowOf(key)
	return r != nil && r.flexible >= 0 && version >= r.flexible
}

// ServedBy says whether an API belongs to the given roles and has the version.
func ServedBy(roles Role, key, version int16) bool {
	r := rowOf(key)
	return r != nil && r.roles&roles != 0 && version >= r.min && version <= r.max
}

// APIName is the API's name as in Kafka's documents, or its number if it is unknown.
func APIName(key int16) string {
	if r := rowOf(key); r != nil {
		return r.name
	}
	return strconv.Itoa(int(key))
}
