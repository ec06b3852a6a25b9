package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// certificateLife is longer than any run.
const certificateLife = 7 * 24 * time.Hour

// SecureSettings makes a key with a certificate that signs itself, in a file in dir, and returns the settings with
// which a node has a second listener, for SSL.
func SecureSettings(dir string) ([]string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})...)
	path := filepath.Join(dir, "broker.pem")
	return []string{"ssl.keystore.type=PEM", "ssl.keystore.location=" + path}, os.WriteFile(path, text, 0o600)
}

// secure tells whether settings have a keystore.
func secure(more []string) bool {
	return slices.ContainsFunc(more, func(line string) bool { return strings.HasPrefix(line, "ssl.keystore.") })
}

// withSecure notes the address of the listener for SSL in a node that was started.
func withSecure(address string) func(*Node, error) (*Node, error) {
	return func(n *Node, err error) (*Node, error) {
		if n != nil {
			n.Secure = address
		}
		return n, err
	}
}
