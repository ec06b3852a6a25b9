package config

import (
	"strings"
	"testing"
)

func parseFile(t *testing.T, file string) map[string]string {
	t.Helper()
	m, err := LoadProperties(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLoadListeners reads valid combinations of listeners, roles and ids.
func TestLoadListeners(t *testing.T) {
	for _, tc := range []struct{ name, file, listeners, advertised, interBroker string }{
		{"nothing but a file", "", "PLAINTEXT://:9092", "PLAINTEXT://:9092 auto", "PLAINTEXT"},
		{"zero config", "listeners=PLAINTEXT://localhost:9092", "PLAINTEXT://localhost:9092", "PLAINTEXT://localhost:9092", "PLAINTEXT"},
		{"0.0.0.0 is advertised as whatever clients use", "listeners=PLAINTEXT://0.0.0.0:9092", "PLAINTEXT://0.0.0.0:9092", "PLAINTEXT://:9092 auto", "PLAINTEXT"},
		{"controller listener isn't advertised", "listeners=PLAINTEXT://h:9092,CONTROLLER://:9093\ncontroller.listener.names=CONTROLLER",
			"PLAINTEXT://h:9092 CONTROLLER://:9093", "PLAINTEXT://h:9092", "PLAINTEXT"},
		{"names are folded to capitals", "listeners=plaintext://h:9092,Controller://:9093\ncontroller.listener.names=controller",
			"PLAINTEXT://h:9092 CONTROLLER://:9093", "PLAINTEXT://h:9092", "PLAINTEXT"},
		{"own names", "listeners=EXT://:9092,INT://[::1]:9094\nlistener.security.protocol.map=EXT:PLAINTEXT,INT:PLAINTEXT\n" +
			"inter.broker.listener.name=INT\nadvertised.listeners=EXT://example.org:19092,INT://[::1]:9094",
			"EXT://:9092 INT://[::1]:9094", "EXT://example.org:19092 INT://[::1]:9094", "INT"},
		{"two families share a port", "listeners=PLAINTEXT://[::1]:9092,EXT://127.0.0.1:9092\nlistener.security.protocol.map=EXT:PLAINTEXT,PLAINTEXT:PLAINTEXT",
			"PLAINTEXT://[::1]:9092 EXT://127.0.0.1:9092", "PLAINTEXT://[::1]:9092 EXT://127.0.0.1:9092", "PLAINTEXT"},
		{"chosen ports", "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0\ncontroller.listener.names=CONTROLLER",
			"PLAINTEXT://127.0.0.1:0 CONTROLLER://127.0.0.1:0", "PLAINTEXT://127.0.0.1:0", "PLAINTEXT"},
		{"only a controller", "process.roles=controller\nlisteners=CONTROLLER://:9093\ncontroller.listener.names=CONTROLLER\ncontroller.quorum.voters=1@h:9093",
			"CONTROLLER://:9093", "", "PLAINTEXT"},
	} {
		b, _, err := Load(parseFile(t, tc.file))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var bound, advertised []string
		for _, e := range b.Endpoints.Listeners {
			bound = append(bound, e.String())
		}
		for _, a := range b.Endpoints.Advertised {
			s := a.String()
			if a.Auto {
				s += " auto"
			}
			advertised = append(advertised, s)
		}
		if got := strings.Join(bound, " "); got != tc.listeners {
			t.Errorf("%s: listeners %s, want %s", tc.name, got, tc.listeners)
		}
		if got := strings.Join(advertised, " "); got != tc.advertised {
			t.Errorf("%s: advertised %s, want %s", tc.name, got, tc.advertised)
		}
		if b.Endpoints.InterBroker != tc.interBroker {
			t.Errorf("%s: inter broker %s, want %s", tc.name, b.Endpoints.InterBroker, tc.interBroker)
		}
	}
}

// TestLoadRefuses checks that a bad value stops with one line that names key and value. Up to the
// parenthesis the texts are those of Kafka 4.4.0 for the same file.
func TestLoadRefuses(t *testing.T) {
	const two = "listeners=PLAINTEXT://:9092,CONTROLLER://:9093\ncontroller.listener.names=CONTROLLER\n"
	const split = "listeners=EXT://:9092,INT://:9094\nlistener.security.protocol.map=EXT:PLAINTEXT,INT:PLAINTEXT\n"
	for _, tc := range []struct{ file, want string }{
		{"num.partitions=x", "Invalid value x for configuration num.partitions: Not a number of type INT"},
		{"num.partitions=0", "Invalid value 0 for configuration num.partitions: Value must be at least 1"},
		{"node.id=-1", "Invalid value -1 for configuration node.id: Value must be at least 0"},
		{"node.id=1\nbroker.id=2", "`node.id` and `broker.id` must be set to the same value. `broker.id` is deprecated, please use `node.id` instead. (broker.id=2)"},
		{"log.dirs=", "Configuration 'log.dirs' must not be empty. Valid values include: any non-empty value (log.dirs=)"},
		{"listener.name.plaintext.ssl.client.auth=x", "Invalid value x for configuration ssl.client.auth: String must be one of: required, requested, none"},
		{two + "controller.quorum.voters=2@localhost:9093", "If process.roles contains the 'controller' role, the node id 1 must be included in the set of voters controller.quorum.voters=Set(2) (controller.quorum.voters=2@localhost:9093)"},
		{"process.roles=broker\ncontroller.quorum.voters=1@localhost:9093", "If process.roles contains just the 'broker' role, the node id 1 must not be included in the set of voters controller.quorum.voters=Set(1) (controller.quorum.voters=1@localhost:9093)"},
		{"process.roles=broker", "If using process.roles, either controller.quorum.bootstrap.servers must contain the set of bootstrap controllers or controller.quorum.voters must contain a parseable set of controllers."},
		{"process.roles=broker\ncontroller.quorum.voters=2@h:9093\n" + two, "controller.listener.names must not contain a value appearing in the 'listeners' configuration when running KRaft with just the broker role (controller.listener.names=CONTROLLER)"},
		{"process.roles=controller\n" + two, "The listeners config must only contain KRaft controller listeners from controller.listener.names when process.roles=controller (listeners=PLAINTEXT://:9092,CONTROLLER://:9093)"},
		{"controller.quorum.voters=1@a:1,2@b:1,3@c:1", "controller.listener.names must contain at least one value appearing in the 'listeners' configuration when running the KRaft controller role"},
		{"advertised.listeners=PLAINTEXT://0.0.0.0:9092", "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address. (advertised.listeners=PLAINTEXT://0.0.0.0:9092)"},
		{"advertised.listeners=OTHER://h:9092", "Error creating broker listeners from '[OTHER://h:9092]': No security protocol defined for listener OTHER (advertised.listeners=OTHER://h:9092)"},
		{"advertised.listeners=SSL://h:9092", "inter.broker.listener.name must be a listener name defined in advertised.listeners. The valid options based on currently configured listeners are SSL"},
		{"advertised.listeners=PLAINTEXT://h:9092,SSL://h:9093", "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. Found PLAINTEXT,SSL. The valid options based on the current configuration are PLAINTEXT (advertised.listeners=PLAINTEXT://h:9092,SSL://h:9093)"},
		{split, "inter.broker.listener.name must be a listener name defined in advertised.listeners. The valid options based on currently configured listeners are EXT,INT"},
		{split + "inter.broker.listener.name=NOPE", "Listener with name NOPE defined in inter.broker.listener.name not found in listener.security.protocol.map. (inter.broker.listener.name=NOPE)"},
		{split + "inter.broker.listener.name=INT\nsecurity.inter.broker.protocol=PLAINTEXT", "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set. (inter.broker.listener.name=INT)"},
		{"listeners=PLAINTEXT://:9092,PLAINTEXT://:9094", "Each listener must have a different name, listeners: [PLAINTEXT://:9092, PLAINTEXT://:9094] (listeners=PLAINTEXT://:9092,PLAINTEXT://:9094)"},
		{"listeners=PLAINTEXT://:9092,SSL://:9092", "Each listener must have a different port, listeners: [PLAINTEXT://:9092, SSL://:9092] (listeners=PLAINTEXT://:9092,SSL://:9092)"},
		{"listeners=PLAINTEXT:9092", "Error creating broker listeners from '[PLAINTEXT:9092]': Unable to parse PLAINTEXT:9092 to a broker endpoint (listeners=PLAINTEXT:9092)"},
		{"listeners=PLAINTEXT://h:70000", "Error creating broker listeners from '[PLAINTEXT://h:70000]': Unable to parse PLAINTEXT://h:70000 to a broker endpoint (listeners=PLAINTEXT://h:70000)"},
		{"listener.security.protocol.map=PLAINTEXT:FOO", "Invalid security protocol `FOO` defined in listener.security.protocol.map (listener.security.protocol.map=PLAINTEXT:FOO)"},
		{two + "listener.security.protocol.map=PLAINTEXT:PLAINTEXT", "Error creating broker listeners from '[PLAINTEXT://:9092, CONTROLLER://:9093]': No security protocol defined for listener CONTROLLER (listeners=PLAINTEXT://:9092,CONTROLLER://:9093)"},
		{"listeners=CONTROLLER://:9093\ncontroller.listener.names=CONTROLLER", "There must be at least one broker advertised listener. Perhaps all listeners appear in controller.listener.names?"},
		{"max.connections.per.ip=0", "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set. (max.connections.per.ip=0)"},
		{"max.connections.per.ip.overrides=a", "Error parsing configuration property 'max.connections.per.ip.overrides': a is not of the form host:count (max.connections.per.ip.overrides=a)"},
		{"log.retention.ms=0", "log.retention.ms must be unlimited (-1) or, greater than or equal to 1 (log.retention.ms=0)"},
		{"log.retention.minutes=0", "log.retention.ms must be unlimited (-1) or, greater than or equal to 1 (log.retention.minutes=0)"},
		{"log.cleaner.dedupe.buffer.size=100", "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread. (log.cleaner.dedupe.buffer.size=100)"},
		{"replica.fetch.wait.max.ms=40000", "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket timeouts"},
		{"replica.lag.time.max.ms=100", "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent changes in ISR (replica.lag.time.max.ms=100)"},
		{"queued.max.request.bytes=100", "queued.max.request.bytes must be larger or equal to socket.request.max.bytes (queued.max.request.bytes=100)"},
		{"offsets.topic.compression.codec=9", "Unknown compression type id: 9 (offsets.topic.compression.codec=9)"},
		{"group.consumer.min.session.timeout.ms=50000", "group.consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms"},
		{"cordoned.log.dirs=/elsewhere", "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : /elsewhere (cordoned.log.dirs=/elsewhere)"},
	} {
		_, _, err := Load(parseFile(t, tc.file))
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s:\n got %v\nwant %s", strings.ReplaceAll(tc.file, "\n", " | "), err, tc.want)
		}
	}
}

// TestLoadFillsIn shows what Ottla doesn't demand although Kafka does.
func TestLoadFillsIn(t *testing.T) {
	b, warnings, err := Load(nil)
	if err != nil || len(warnings) != 0 {
		t.Fatal(warnings, err)
	}
	if b.NodeID != 1 || !b.Roles.Broker || !b.Roles.Controller || len(b.LogDirs) != 1 || b.LogDirs[0] != "/tmp/kafka-logs" || b.Rack != nil {
		t.Errorf("NodeID %d, Roles %+v, LogDirs %q, Rack %v", b.NodeID, b.Roles, b.LogDirs, b.Rack)
	}
	b, _, err = Load(parseFile(t, "broker.id=7\nbroker.rack=r\nlog.dirs=/a, /b\nmetadata.log.dir=/m\noffsets.retention.minutes=2\nmax.connections.per.ip.overrides=h:3,::1:4"))
	if err != nil {
		t.Fatal(err)
	}
	if b.NodeID != 7 || b.Int("node.id") != 7 || *b.Rack != "r" || len(b.LogDirs) != 2 || b.LogDirs[1] != "/b" || b.MetadataLogDir != "/m" {
		t.Errorf("%d %s %q %s", b.NodeID, *b.Rack, b.LogDirs, b.MetadataLogDir)
	}
	if b.Offsets.RetentionMs != 120000 || b.Network.MaxConnectionsPerIPByHost["h"] != 3 || b.Network.MaxConnectionsPerIPByHost["::1"] != 4 {
		t.Errorf("%+v %+v", b.Offsets, b.Network)
	}
}

// TestSecretsStayHidden shows that an error never tells a password.
func TestSecretsStayHidden(t *testing.T) {
	err := withValue(&ValueError{Name: "ssl.key.password", Value: "geheim", Plain: "geheim"}, map[string]string{"ssl.key.password": "geheim"})
	if strings.Contains(err.Error(), "geheim") {
		t.Error(err)
	}
}
