package config

// effectiveBrokerKeys lists, sorted, the broker keys that this broker acts on. The others are accepted,
// described and listed in docs; TestEffectiveKeysAreDocumented holds the two equal.
func effectiveBrokerKeys() []string {
	return []string{}
}

// effectiveTopicKeys is the same for topics.
func effectiveTopicKeys() []string {
	return []string{}
}

// effectiveGroupKeys is the same for groups.
func effectiveGroupKeys() []string {
	return []string{}
}
