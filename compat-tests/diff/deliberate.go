package diff

// Deliberate is a difference from the oracle that was chosen. Case, Path and Field are patterns in which a
// star stands for anything.
type Deliberate struct {
	Case, Path, Field string
	Reason            string
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
	return append(list,
		Deliberate{
			Case: "describe_configs/*", Path: "*", Field: "Documentation",
			Reason: "Configuration keys are described without Kafka's explanatory texts.",
		},
	)
}

// notServed lists the APIs of the oracle's broker listener that wait for a later stage.
func notServed() map[string]string {
	return map[string]string{
		"17": "SaslHandshake", "36": "SaslAuthenticate",
		"24": "AddPartitionsToTxn", "25": "AddOffsetsToTxn", "26": "EndTxn", "27": "WriteTxnMarkers",
		"28": "TxnOffsetCommit", "61": "DescribeProducers",
	}
}
