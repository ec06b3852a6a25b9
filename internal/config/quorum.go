package config

import (
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Voter is a member of controller.quorum.voters.
type Voter struct {
	ID   int32
	Host string
	Port int32
}

// HostPort is a network address.
type HostPort struct {
	Host string
	Port int32
}

// String is host:port, with brackets around an IPv6 address.
func (a HostPort) String() string { return net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port))) }

// hostPortPattern is how Kafka's clients read host:port; a protocol before it is allowed and ignored.
var hostPortPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)$`)
})

// parseHostPort returns false for what isn't host:port. A port beyond 65535 is an error.
func parseHostPort(k *Key, s string) (HostPort, bool, error) {
	m := hostPortPattern().FindStringSubmatch(s)
	if m == nil || m[1] == "" {
		return HostPort{}, false, nil
	}
	port, err := strconv.ParseInt(m[2], 10, 32)
	if err != nil {
		return HostPort{}, false, nil
	}
	if port > 65535 {
		return HostPort{}, true, plainError(k, "port out of range:"+m[2])
	}
	return HostPort{Host: m[1], Port: int32(port)}, true, nil
}

func parseVoters(k *Key, list []string) ([]Voter, error) {
	var voters []Voter
	for _, entry := range list {
		id, addr, ok := strings.Cut(entry, "@")
		if !ok || strings.Contains(addr, "@") || addr == "" {
			return nil, plainError(k, "Invalid configuration value for "+k.Name+
				". Each entry should be in the form `{id}@{host}:{port}`.")
		}
		n, err := parseJavaInt(id, 32)
		if err != nil {
			return nil, plainError(k, "Failed to parse voter ID as an integer from "+id)
		}
		a, ok, err := parseHostPort(k, addr)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, plainError(k, "Failed to parse host name from entry "+entry+" for the configuration "+k.Name+
				". Each entry should be in the form `{id}@{host}:{port}`.")
		}
		voters = append(voters, Voter{ID: int32(n), Host: a.Host, Port: a.Port})
	}
	return voters, nil
}

func parseBootstrapServers(k *Key, list []string) ([]HostPort, error) {
	var servers []HostPort
	for _, entry := range list {
		a, ok, err := parseHostPort(k, entry)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, plainError(k, "Failed to parse host name from "+entry+" for the configuration "+k.Name+
				`. Each entry should be in the form "{host}:{port}"`)
		}
		servers = append(servers, a)
	}
	return servers, nil
}
