package load

import (
	"crypto/tls"
	"net"
	"strings"
	"time"
)

// SecureScheme stands before an address that is to be spoken to with TLS.
const SecureScheme = "ssl://"

// dialTimeout bounds connecting, with the handshake.
const dialTimeout = 5 * time.Second

// connect opens a connection, with TLS where the address says so. Who answers isn't verified: the certificate is one
// that was made for the run. Records have full size from the start, as those of Java's clients.
func connect(address string) (net.Conn, error) {
	host, secure := strings.CutPrefix(address, SecureScheme)
	if !secure {
		return net.DialTimeout("tcp", host, dialTimeout)
	}
	return tls.DialWithDialer(&net.Dialer{Timeout: dialTimeout}, "tcp", host, &tls.Config{InsecureSkipVerify: true, DynamicRecordSizingDisabled: true})
}
