package config

import (
	"sort"
	"strconv"
)

// ZeroConfig is the settings of a node that was given none: one combined node on localhost.
func ZeroConfig() map[string]string {
	return map[string]string{
		"listeners": "PLAINTEXT://localhost:9092",
		"log.dirs":  "./ottla-data",
	}
}

// Load checks static settings (file, environment, command line, in one map) and makes the view of
// them. The warnings name keys that are unknown or have no effect. The error is one line that names
// the key and its value in Kafka's words.
//
// Three keys that Kafka demands have defaults: node.id is 1, process.roles is broker,controller, and
// a controller that is alone needs neither controller.listener.names nor a quorum.
func Load(static map[string]string) (b *Broker, warnings []string, err error) {
	names := make([]string, 0, len(static))
	for name := range static {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		k := BrokerKeys().Lookup(name)
		if k == nil {
			if known, base := listenerKey(name); known != nil {
				text := static[name]
				if _, err := known.Parse(&text); err != nil {
					return nil, nil, err
				}
				_ = base
				continue
			}
			warnings = append(warnings, "unknown configuration key "+name+" is ignored")
			continue
		}
		text := static[name]
		if _, err := k.Parse(&text); err != nil {
			return nil, nil, err
		}
		if !k.Effective {
			warnings = append(warnings, "configuration key "+name+" has no effect yet")
		}
	}
	l := Layers{Static: static}
	if err := checkValues(&l); err != nil {
		return nil, nil, err
	}
	e, err := endpoints(&l)
	if err != nil {
		return nil, nil, err
	}
	return newBroker(l, e), warnings, nil
}

func nodeID(l *Layers) int32 {
	for _, name := range []string{"node.id", "broker.id"} {
		if l.IsSet(name) && l.Int(name) >= 0 {
			return int32(l.Int(name))
		}
	}
	return 1
}

func roles(l *Layers) Roles {
	if !l.IsSet("process.roles") {
		return Roles{Broker: true, Controller: true}
	}
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
