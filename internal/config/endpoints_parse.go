package config

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

var endpointPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)$`)
})

// parseEndpoints reads a list of NAME://host:port.
func parseEndpoints(key string, list []string, protocols map[string]string) ([]Endpoint, error) {
	fail := func(reason string) error {
		return &ValueError{Name: key, Plain: "Error creating broker listeners from '[" + strings.Join(list, ", ") + "]': " + reason}
	}
	out := make([]Endpoint, 0, len(list))
	for _, entry := range list {
		m := endpointPattern().FindStringSubmatch(entry)
		var port int64
		var err error
		if m != nil {
			port, err = strconv.ParseInt(m[3], 10, 32)
		}
		if m == nil || err != nil || port < 0 || port > 65535 {
			return nil, fail("Unable to parse " + entry + " to a broker endpoint")
		}
		name := strings.ToUpper(m[1])
		protocol, ok := protocols[name]
		if !ok {
			return nil, fail("No security protocol defined for listener " + name)
		}
		out = append(out, Endpoint{Name: name, SecurityProtocol: protocol, Host: m[2], Port: int32(port)})
	}
	return out, nil
}

// protocolMap reads listener.security.protocol.map. A controller listener that isn't in it is PLAINTEXT as
// long as the map isn't set, as in Kafka.
func protocolMap(l *Layers, controllers []string) (map[string]string, error) {
	const key = "listener.security.protocol.map"
	m := make(map[string]string)
	text := l.Text(key)
	for _, entry := range SplitList(text) {
		name, protocol, ok := cutLast(entry, ':')
		if !ok {
			return nil, &ValueError{Name: key, Value: text, Reason: "entry " + entry + " is not of the form listener:protocol"}
		}
		protocol = trimJava(protocol)
		if !slices.Contains([]string{Plaintext, SSL, SASLPlaintext, SASLSSL}, strings.ToUpper(protocol)) {
			return nil, &ValueError{Name: key, Plain: "Invalid security protocol `" + protocol + "` defined in " + key}
		}
		m[strings.ToUpper(trimJava(name))] = strings.ToUpper(protocol)
	}
	if !l.IsSet(key) {
		for _, c := range controllers {
			if _, ok := m[c]; !ok {
				m[c] = Plaintext
			}
		}
	}
	return m, nil
}

// cutLast cuts s at the last sep.
func cutLast(s string, sep byte) (before, after string, ok bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// endpoints reads and checks everything about listeners.
func endpoints(l *Layers) (Endpoints, error) {
	var e Endpoints
	r := roles(l)
	for _, name := range l.List("controller.listener.names") {
		e.Controllers = append(e.Controllers, strings.ToUpper(name))
	}
	protocols, err := protocolMap(l, e.Controllers)
	if err != nil {
		return e, err
	}
	if e.Listeners, err = parseEndpoints("listeners", l.List("listeners"), protocols); err != nil {
		return e, err
	}
	if err := distinctListeners(l, "listeners", e.Listeners, true); err != nil {
		return e, err
	}
	if err := e.advertise(l, protocols); err != nil {
		return e, err
	}
	if e.InterBroker, err = interBroker(l, protocols); err != nil {
		return e, err
	}
	e.InterBrokerProtocol, e.ControllerProtocol = protocols[e.InterBroker], Plaintext
	if len(e.Controllers) > 0 {
		if p, ok := protocols[e.Controllers[0]]; ok {
			e.ControllerProtocol = p
		}
	}
	return e, e.check(l, r)
}

// advertise fills Advertised from advertised.listeners, or from the listeners that aren't controllers'.
func (e *Endpoints) advertise(l *Layers, protocols map[string]string) error {
	const key = "advertised.listeners"
	if !l.IsSet(key) {
		for _, b := range e.Listeners {
			if e.IsController(b.Name) {
				continue
			}
			a := Advertised{Endpoint: b, Auto: b.Wildcard()}
			if a.Auto {
				a.Host = ""
			}
			e.Advertised = append(e.Advertised, a)
		}
		return nil
	}
	list, err := parseEndpoints(key, l.List(key), protocols)
	if err != nil {
		return err
	}
	if err := distinctListeners(l, key, list, false); err != nil {
		return err
	}
	for _, a := range list {
		if ip := net.ParseIP(a.Host); ip != nil && ip.IsUnspecified() {
			return &ValueError{Name: key, Plain: key + " cannot use the nonroutable meta-address " + a.Host + ". Use a routable IP address."}
		}
		if !e.IsController(a.Name) {
			e.Advertised = append(e.Advertised, Advertised{Endpoint: a, Auto: a.Host == ""})
		}
	}
	return nil
}

// distinctListeners refuses two listeners of one name, and of one port unless one is IPv4 and the other
// IPv6. Port 0 may be given often. advertised.listeners may share a port.
func distinctListeners(l *Layers, key string, list []Endpoint, ports bool) error {
	text := "[" + strings.Join(l.List(key), ", ") + "]"
	for i, a := range list {
		for _, b := range list[:i] {
			if a.Name == b.Name {
				return &ValueError{Name: key, Plain: "Each listener must have a different name, " + key + ": " + text}
			}
			if ports && a.Port != 0 && a.Port == b.Port && !ipv4AndIPv6(a.Host, b.Host) {
				return &ValueError{Name: key, Plain: "Each listener must have a different port, " + key + ": " + text}
			}
		}
	}
	return nil
}

func ipv4AndIPv6(a, b string) bool {
	x, y := net.ParseIP(a), net.ParseIP(b)
	return x != nil && y != nil && (x.To4() == nil) != (y.To4() == nil)
}

// interBroker is the name of the listener for brokers: inter.broker.listener.name, or the security
// protocol's name.
func interBroker(l *Layers, protocols map[string]string) (string, error) {
	const key, old = "inter.broker.listener.name", "security.inter.broker.protocol"
	name := l.Text(key)
	if name == "" {
		return l.Text(old), nil
	}
	if l.IsSet(old) {
		return "", &ValueError{Name: key, Plain: "Only one of " + key + " and " + old + " should be set."}
	}
	name = strings.ToUpper(name)
	if _, ok := protocols[name]; !ok {
		return "", &ValueError{Name: key, Plain: "Listener with name " + name + " defined in " + key +
			" not found in listener.security.protocol.map."}
	}
	return name, nil
}

// check is KafkaConfig.validateValues for listeners and roles, but for what a controller that is alone
// may leave out.
func (e *Endpoints) check(l *Layers, r Roles) error {
	fail := func(key, text string) error { return &ValueError{Name: key, Plain: text} }
	if err := checkVoters(l, r); err != nil {
		return err
	}
	hasControllerListener := slices.ContainsFunc(e.Listeners, func(b Endpoint) bool { return e.IsController(b.Name) })
	alone := r.Controller && r.Broker && len(l.List("controller.quorum.voters")) <= 1
	switch {
	case r.Controller && !hasControllerListener && !alone:
		return fail("controller.listener.names", "controller.listener.names must contain at least one value appearing in the "+
			"'listeners' configuration when running the KRaft controller role")
	case !r.Controller && hasControllerListener:
		return fail("controller.listener.names", "controller.listener.names must not contain a value appearing in the "+
			"'listeners' configuration when running KRaft with just the broker role")
	case !r.Broker && slices.ContainsFunc(e.Listeners, func(b Endpoint) bool { return !e.IsController(b.Name) }):
		return fail("listeners", "The listeners config must only contain KRaft controller listeners from "+
			"controller.listener.names when process.roles=controller")
	case !r.Broker:
		e.Advertised = nil
		return nil
	case len(e.Advertised) == 0:
		return fail("advertised.listeners", "There must be at least one broker advertised listener. "+
			"Perhaps all listeners appear in controller.listener.names?")
	}
	var names, bound []string
	for _, b := range e.Listeners {
		bound = append(bound, b.Name)
	}
	for _, a := range e.Advertised {
		names = append(names, a.Name)
	}
	if !slices.Contains(names, e.InterBroker) {
		return fail("inter.broker.listener.name", "inter.broker.listener.name must be a listener name defined in "+
			"advertised.listeners. The valid options based on currently configured listeners are "+strings.Join(names, ","))
	}
	if slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(bound, name) }) {
		return fail("advertised.listeners", "advertised.listeners listener names must be equal to or a subset of the ones defined in "+
			"listeners. Found "+strings.Join(names, ",")+". The valid options based on the current configuration are "+strings.Join(bound, ","))
	}
	return nil
}

// checkVoters holds the node's roles against controller.quorum.voters.
func checkVoters(l *Layers, r Roles) error {
	const key = "controller.quorum.voters"
	q := quorum(l)
	var ids []string
	self := false
	for _, v := range q.Voters {
		ids = append(ids, strconv.Itoa(int(v.ID)))
		self = self || v.ID == nodeID(l)
	}
	set := strconv.Itoa(int(nodeID(l))) + " %s be included in the set of voters " + key + "=Set(" + strings.Join(ids, ", ") + ")"
	switch {
	case !r.Controller && len(ids) == 0 && len(q.BootstrapServers) == 0:
		return &ValueError{Name: key, Plain: "If using process.roles, either controller.quorum.bootstrap.servers must contain the set of " +
			"bootstrap controllers or controller.quorum.voters must contain a parseable set of controllers."}
	case r.Controller && len(ids) > 0 && !self:
		return &ValueError{Name: key, Plain: "If process.roles contains the 'controller' role, the node id " + fmt.Sprintf(set, "must")}
	case !r.Controller && self:
		return &ValueError{Name: key, Plain: "If process.roles contains just the 'broker' role, the node id " + fmt.Sprintf(set, "must not")}
	}
	return nil
}
