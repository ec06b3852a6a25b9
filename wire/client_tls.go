package wire

import (
	"context"
	"crypto/tls"
	"net"
)

// Handshake begins TLS over a connection that was dialled to address, host:port; without a ServerName in config it is
// that host that the other side's certificate must name. It takes conn, which is closed on an error.
func Handshake(ctx context.Context, conn net.Conn, config *tls.Config, address string) (net.Conn, error) {
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			_ = conn.Close() // Nothing was said yet.
			return nil, err
		}
		config = config.Clone() // The session cache is shared.
		config.ServerName = host
	}
	t := tls.Client(conn, config)
	if err := t.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // The error tells more.
		return nil, err
	}
	return t, nil
}
