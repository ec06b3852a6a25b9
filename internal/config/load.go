package config

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ZeroConfig is the settings of a node that was given none: one combined node on localhost.
func ZeroConfig() map[string]string {
	return map[string]string{
		"listeners": "PLAINTEXT://localhost:9092",
		"log.dirs":  "./ottla-data",
	}
}

// Load checks static settings (file, environment, command line, in one map) and makes the view of
// them. The warnings name keys that are unknown or have no effect, and addresses that most clients can't
// reach. The error is one line that names
// the key and its value in Kafka's words.
//
// Three keys that Kafka demands have defaults: node.id is 1, process.roles is broker,controller, and
// a controller that is alone needs neither controller.listener.names nor a quorum.
func Load(static map[string]string) (b *Broker, warnings []string, err error) {
	var idle []string
	given := static
	static = completed(static)
	for _, name := range slices.Sorted(maps.Keys(static)) {
		k := lookupBroker(name)
		if k == nil {
			warnings = append(warnings, "unknown configuration key "+name+" is ignored")
			continue
		}
		text := static[name]
		if _, err := k.Parse(&text); err != nil {
			return nil, nil, withValue(err, static)
		}
		if _, ok := given[name]; ok && !k.Effective {
			idle = append(idle, name)
		}
	}
	if len(idle) > 0 {
		warnings = append(warnings, "configuration keys without effect yet: "+strings.Join(idle, ", "))
	}
	l := Layers{Static: static}
	if err := checkValues(&l); err != nil {
		return nil, nil, withValue(err, static)
	}
	e, err := endpoints(&l)
	if err != nil {
		return nil, nil, withValue(err, static)
	}
	return newBroker(l, e), append(warnings, e.unreachable()...), nil
}

// completed is a copy of static in which what Ottla doesn't demand is filled in: node.id and broker.id
// stand for each other, as in Kafka, and are 1 by default; process.roles is both.
func completed(static map[string]string) map[string]string {
	out := maps.Clone(static)
	if out == nil {
		out = make(map[string]string)
	}
	_, hasNode := out["node.id"]
	broker, hasBroker := out["broker.id"]
	switch {
	case !hasNode && hasBroker && trimJava(broker) != "-1":
		out["node.id"] = broker
	case !hasNode:
		out["node.id"] = "1"
	}
	if !hasBroker {
		out["broker.id"] = out["node.id"]
	}
	if _, ok := out["process.roles"]; !ok {
		out["process.roles"] = "broker,controller"
	}
	return out
}

// withValue makes sure that an error says which value of which key is meant; some of Kafka's texts don't.
// A secret is never shown.
func withValue(err error, static map[string]string) error {
	var v *ValueError
	if !errors.As(err, &v) {
		return err
	}
	if k := lookupBroker(v.Name); k != nil && k.Sensitive() {
		return &ValueError{Name: v.Name, Value: "[hidden]", Reason: v.Reason}
	}
	if text, ok := static[v.Name]; ok && v.Plain != "" {
		return &ValueError{Name: v.Name, Plain: v.Plain + " (" + v.Name + "=" + text + ")"}
	}
	return err
}

func nodeID(l *Layers) int32 { return int32(l.Int("node.id")) }

func roles(l *Layers) Roles {
	var r Roles
	for _, role := range l.List("process.roles") {
		r.Broker = r.Broker || role == "broker"
		r.Controller = r.Controller || role == "controller"
	}
	return r
}

func logDirs(l *Layers) []string {
	if dirs := l.List("log.dirs"); len(dirs) > 0 {
		return dirs
	}
	return l.List("log.dir")
}

func quorum(l *Layers) Quorum {
	q := Quorum{
		ElectionTimeoutMs:         l.Int("controller.quorum.election.timeout.ms"),
		FetchTimeoutMs:            l.Int("controller.quorum.fetch.timeout.ms"),
		RequestTimeoutMs:          l.Int("controller.quorum.request.timeout.ms"),
		BrokerHeartbeatIntervalMs: l.Int("broker.heartbeat.interval.ms"),
		BrokerSessionTimeoutMs:    l.Int("broker.session.timeout.ms"),

		InitialRegistrationTimeoutMs: l.Int("initial.broker.registration.timeout.ms"),
		ControlledShutdown:           l.Bool("controlled.shutdown.enable"),
	}
	keys := BrokerKeys()
	// Both were parsed by their validators; an error can't happen here.
	q.Voters, _ = parseVoters(keys.Lookup("controller.quorum.voters"), l.List("controller.quorum.voters"))
	q.BootstrapServers, _ = parseBootstrapServers(keys.Lookup("controller.quorum.bootstrap.servers"),
		l.List("controller.quorum.bootstrap.servers"))
	return q
}

// connectionOverrides reads max.connections.per.ip.overrides; what doesn't parse is left out.
func connectionOverrides(text string) map[string]int32 {
	out := make(map[string]int32)
	for _, entry := range SplitList(text) {
		if host, count, ok := cutLast(entry, ':'); ok {
			if n, err := strconv.ParseInt(trimJava(count), 10, 32); err == nil {
				out[trimJava(host)] = int32(n)
			}
		}
	}
	return out
}
