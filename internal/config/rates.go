package config

import "sync"

// Names of the throttles of replication: dynamic settings that Kafka doesn't list among its keys.
const (
	leaderThrottleRate   = "leader.replication.throttled.rate"
	followerThrottleRate = "follower.replication.throttled.rate"
)

// rateKeys describes the rates that can only be set while brokers run: those, and that of moves between log directories.
var rateKeys = sync.OnceValue(func() *KeySet {
	var rows []keyRow
	for _, name := range []string{followerThrottleRate, leaderThrottleRate, alterLogDirsRate} {
		rows = append(rows, keyRow{name, TypeLong, "", atLeast(0), Medium, ClusterWide, nullDefault})
	}
	return newKeySet(ResourceBroker, withEffective(buildKeys(rows), []string{followerThrottleRate, leaderThrottleRate, alterLogDirsRate}))
})

// lookupDynamic finds the key of a dynamic setting of brokers, or nil.
func lookupDynamic(name string) *Key {
	if k := rateKeys().Lookup(name); k != nil {
		return k
	}
	return lookupBroker(name)
}

// dynamicRate is a rate in bytes a second that can only be set while brokers run; 0 where it is unset or
// isn't a number.
func (l *Layers) dynamicRate(name string) int64 {
	for _, layer := range []map[string]string{l.DynamicBroker, l.DynamicDefault} {
		if text, ok := layer[name]; ok {
			if n, err := parseJavaInt(trimJava(text), 64); err == nil && n >= 0 {
				return n
			}
			return 0
		}
	}
	return 0
}
