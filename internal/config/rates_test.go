package config

import "testing"

// The rates aren't among the listed keys, but they are no secrets, and no text is taken for a number; asked of Kafka 4.4.0.
func TestRates(t *testing.T) {
	for _, name := range []string{"leader.replication.throttled.rate", "follower.replication.throttled.rate", "replica.alter.log.dirs.io.max.bytes.per.second"} {
		b, _, err := Load(ZeroConfig())
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]string{
			"100": "", "0": "", " 5 ": "", "9223372036854775807": "",
			"-1": "INVALID_REQUEST: Invalid value -1 for configuration " + name + ": Value must be at least 0",
			"x":  "INVALID_REQUEST: Invalid value x for configuration " + name + ": Not a number of type LONG",
		} {
			got := ""
			if err := b.ValidateBroker(map[string]string{name: text}, false); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s=%q: %q, want %q", name, text, got, want)
			}
		}
		b.DynamicBroker, b.DynamicDefault = map[string]string{name: "200"}, map[string]string{name: "300"}
		got := ""
		for _, row := range append(b.DescribeBroker(), b.DescribeDefaultBroker()...) {
			if row.Name == name {
				got += show(row) + "\n"
			}
		}
		want := name + "=200 DYNAMIC_BROKER_CONFIG LONG ro=false sensitive=false default=false [" + name + "=200 DYNAMIC_BROKER_CONFIG] [" + name + "=300 DYNAMIC_DEFAULT_BROKER_CONFIG]\n" +
			name + "=300 DYNAMIC_DEFAULT_BROKER_CONFIG LONG ro=false sensitive=false default=false [" + name + "=300 DYNAMIC_DEFAULT_BROKER_CONFIG]\n"
		if got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		if idle := b.IdleDynamic(); len(idle) > 0 {
			t.Errorf("%v are said to change nothing", idle)
		}
	}
}
