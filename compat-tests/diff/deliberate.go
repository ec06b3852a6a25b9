package diff

// Deliberate is a difference from the oracle that was chosen. Case, Title, Path and Field are patterns in
// which a star stands for anything; an empty Title stands for every step of the case.
type Deliberate struct {
	Case, Title, Path, Field string
	Reason                   string
}

// Deliberates is the whole list. A difference that isn't on it is a bug.
func Deliberates() []Deliberate {
	var list []Deliberate
	for key, name := range notServed() {
		list = append(list, Deliberate{
			Case: "*", Path: "ApiKeys[" + key + "]", Field: "*",
			Reason: name + " isn't served yet, so it isn't advertised.",
		})
	}
	for _, feature := range []string{"group.version", "share.version", "streams.version", "transaction.version"} {
		const reason = "The feature gates APIs that aren't served yet, so its level is 0."
		list = append(list,
			Deliberate{Case: "api_versions/*", Path: "SupportedFeatures[" + feature + "]", Field: "MaxVersion", Reason: reason},
			Deliberate{Case: "api_versions/*", Path: "FinalizedFeatures[" + feature + "]", Field: "*", Reason: reason},
		)
	}
	return append(list,
		Deliberate{
			Case: "fetch/zstd-for-old-versions-P21", Title: "Fetch v4: zstd*", Path: "*", Field: "*", Reason: zstdReason,
		},
		Deliberate{
			Case: "fetch/zstd-for-old-versions-P21", Title: "Fetch v9: zstd*", Path: "*", Field: "*", Reason: zstdReason,
		},
		Deliberate{
			Case: "produce/message-too-large*", Path: "*", Field: "ErrorMessage",
			Reason: "Kafka refuses a batch that is too large without a word; Ottla names the size, the limit and the setting (O09).",
		},
		Deliberate{
			Case: "incremental_alter_configs/effect-on-produce", Title: "Produce*", Path: "*", Field: "ErrorMessage",
			Reason: "As above: the text of MESSAGE_TOO_LARGE (O09).",
		},
		Deliberate{
			Case: "incremental_alter_configs/broker-keys", Title: "*: listeners of a broker", Path: "Resources*", Field: "ErrorMessage",
			Reason: "Both refuse the change: Kafka since it takes the controller's listener away, Ottla since listeners don't change while it runs.",
		},
		Deliberate{
			Case: "describe_topic_partitions/unknown", Title: "*: empty name", Path: "Topics*", Field: "*",
			Reason: "Kafka fails on an empty name with UNKNOWN_SERVER_ERROR; Ottla says that it is no legal name, as Kafka's Metadata does.",
		},
		Deliberate{
			Case: "produce/records-null", Path: "*", Field: "*",
			Reason: "Kafka never answers a Produce whose records are null; Ottla does.",
		},
		Deliberate{
			Case: "incremental_alter_configs/operation-unknown", Path: "Resources*", Field: "Error*",
			Reason: "Kafka's controller fails on an operation it doesn't know, and resigns; Ottla refuses the change.",
		},
		Deliberate{
			Case: "alter_configs/errors", Title: "*: resource twice", Path: "*", Field: "*",
			Reason: "Kafka fails on a resource that is named twice and never answers; Ottla does.",
		},
	)
}

const zstdReason = "A client that fetches with a version below 10 can't read zstd: Ottla tells it so, Kafka 4 sends it the bytes."

// notServed lists the APIs of the oracle's broker listener that wait for a later stage.
func notServed() map[string]string {
	return map[string]string{
		// SASL.
		"17": "SaslHandshake",
		"36": "SaslAuthenticate",
		// Transactions.
		"24": "AddPartitionsToTxn",
		"25": "AddOffsetsToTxn",
		"26": "EndTxn",
		"27": "WriteTxnMarkers",
		"28": "TxnOffsetCommit",
		"65": "DescribeTransactions",
		"66": "ListTransactions",
		// ACL changes, which need an authorizer.
		"30": "CreateAcls",
		"31": "DeleteAcls",
		// Delegation tokens.
		"38": "CreateDelegationToken",
		"39": "RenewDelegationToken",
		"40": "ExpireDelegationToken",
		"41": "DescribeDelegationToken",
		// Cluster administration.
		"49": "AlterClientQuotas",
		"51": "AlterUserScramCredentials",
		"57": "UpdateFeatures",
		"64": "UnregisterBroker",
		"80": "AddRaftVoter",
		"81": "RemoveRaftVoter",
		"94": "UnregisterController",
		// Consumer groups of KIP-848.
		"68": "ConsumerGroupHeartbeat",
		"69": "ConsumerGroupDescribe",
		// Share groups.
		"76": "ShareGroupHeartbeat",
		"77": "ShareGroupDescribe",
		"78": "ShareFetch",
		"79": "ShareAcknowledge",
		"83": "InitializeShareGroupState",
		"84": "ReadShareGroupState",
		"85": "WriteShareGroupState",
		"86": "DeleteShareGroupState",
		"87": "ReadShareGroupStateSummary",
		"90": "DescribeShareGroupOffsets",
		"91": "AlterShareGroupOffsets",
		"92": "DeleteShareGroupOffsets",
		// Streams groups.
		"88": "StreamsGroupHeartbeat",
		"89": "StreamsGroupDescribe",
		"93": "StreamsGroupTopologyDescriptionUpdate",
	}
}
