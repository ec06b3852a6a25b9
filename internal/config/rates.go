package config

// Names of the throttles of replication: dynamic settings that Kafka doesn't list among its keys.
const (
	leaderThrottleRate   = "leader.replication.throttled.rate"
	followerThrottleRate = "follower.replication.throttled.rate"
)

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
