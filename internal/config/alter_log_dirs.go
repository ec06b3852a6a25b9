package config

import "strconv"

// alterLogDirsRate bounds the bytes that moves between log directories copy in a second. It is a dynamic setting of
// brokers only, which Kafka's server.properties doesn't know (KIP-113; Kafka: QuotaConfig).
const alterLogDirsRate = "replica.alter.log.dirs.io.max.bytes.per.second"

// AlterLogDirsBytesPerSecond is replica.alter.log.dirs.io.max.bytes.per.second; 0 is no bound, which a value that
// is no positive number means too.
func (b *Broker) AlterLogDirsBytesPerSecond() float64 {
	for _, layer := range []map[string]string{b.DynamicBroker, b.DynamicDefault} {
		if v, ok := layer[alterLogDirsRate]; ok {
			if n, err := strconv.ParseInt(v, 10, 64); err == nil && n > 0 {
				return float64(n)
			}
			return 0
		}
	}
	return 0
}
