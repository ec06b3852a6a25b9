package config

import "math"

// dynamicRate is a rate in bytes a second that Kafka takes as a dynamic setting of brokers only, without
// listing it among its keys: unlimited unless it is set to a number that isn't negative.
func (l *Layers) dynamicRate(name string) int64 {
	for _, layer := range []map[string]string{l.DynamicBroker, l.DynamicDefault} {
		if text, ok := layer[name]; ok {
			if n, err := parseJavaInt(trimJava(text), 64); err == nil && n >= 0 {
				return n
			}
		}
	}
	return math.MaxInt64
}
