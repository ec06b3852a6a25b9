package tlsconfig

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/config"
)

// Source is where configurations come from.
type Source struct {
	// ReadFile reads a store.
	ReadFile func(name string) ([]byte, error)
	// Now tells which certificates have expired.
	Now func() time.Time
}

// Built is a configuration with what its owner is to be told.
type Built struct {
	*tls.Config
	// Warnings are sentences on settings that are in force in part only.
	Warnings []string
}

// sessionsRemembered is how many brokers a client can resume its session with.
const sessionsRemembered = 128

// Server makes the configuration of a listener.
func (s Source) Server(keys config.Listener) (Built, error) {
	b, err := s.common(keys)
	if err != nil {
		return Built{}, err
	}
	if len(b.Certificates) == 0 {
		return Built{}, problem(keys, "ssl.keystore.location", "an SSL listener needs a key and its certificate: set ssl.keystore.location with "+
			"ssl.keystore.password, or ssl.keystore.type=PEM with ssl.keystore.key and ssl.keystore.certificate.chain")
	}
	switch keys.Text("ssl.client.auth") {
	case "required":
		b.ClientAuth = tls.RequireAndVerifyClientCert
	case "requested":
		b.ClientAuth = tls.VerifyClientCertIfGiven
	}
	if b.ClientCAs, err = s.truststore(keys); err != nil {
		return Built{}, err
	}
	return b, nil
}

// Client makes the configuration of this node's connections to others' listeners of that name. The broker that is
// dialled must be named by its certificate unless ssl.endpoint.identification.algorithm is empty. The own certificate
// must be one that the own truststore trusts, as in Kafka (SslEngineValidator): nodes have the same one.
func (s Source) Client(keys config.Listener) (Built, error) {
	b, err := s.common(keys)
	if err != nil {
		return Built{}, err
	}
	if keys.Text("ssl.protocol") == "TLSv1.2" {
		b.MaxVersion = tls.VersionTLS12
		if b.MinVersion > b.MaxVersion {
			return Built{}, problem(keys, "ssl.protocol", "TLSv1.2 isn't among ssl.enabled.protocols")
		}
	}
	if b.RootCAs, err = s.truststore(keys); err != nil {
		return Built{}, err
	}
	if err := s.verifyOwn(keys, b.Config); err != nil {
		return Built{}, err
	}
	switch algorithm := keys.Text("ssl.endpoint.identification.algorithm"); {
	case algorithm == "":
		withoutName(b.Config)
	case !strings.EqualFold(algorithm, "https"):
		return Built{}, problem(keys, "ssl.endpoint.identification.algorithm", "%s is not known: it is https, or empty not to verify host names", algorithm)
	}
	b.ClientSessionCache = tls.NewLRUClientSessionCache(sessionsRemembered)
	return b, nil
}

// common is what servers and clients share: protocols, suites, own certificates.
func (s Source) common(keys config.Listener) (Built, error) {
	// Records of full size from the start: nodes and clients are near each other, and the small records with which
	// crypto/tls begins, so that a browser sees the first bytes early, cost a system call and a seal each.
	b := Built{Config: &tls.Config{Time: s.Now, DynamicRecordSizingDisabled: true}}
	if err := protocols(keys, &b); err != nil {
		return Built{}, err
	}
	if err := suites(keys, &b); err != nil {
		return Built{}, err
	}
	var err error
	b.Certificates, err = s.keystore(keys)
	return b, err
}

// verifyOwn holds the own certificates against the own truststore.
func (s Source) verifyOwn(keys config.Listener, c *tls.Config) error {
	if c.RootCAs == nil {
		return nil // The system's: Kafka's validation would ask Java's.
	}
	for _, own := range c.Certificates {
		chain := make([]*x509.Certificate, 0, len(own.Certificate))
		for _, der := range own.Certificate {
			cert, err := x509.ParseCertificate(der)
			if err != nil {
				return problem(keys, keystoreKey(keys), "a certificate can't be read: %s", err)
			}
			chain = append(chain, cert)
		}
		if err := verifyChain(chain, c.RootCAs, s.Now(), x509.ExtKeyUsageServerAuth); err != nil {
			return problem(keys, truststoreKey(keys), "other nodes, which have the same truststore, would refuse this node's certificate: %s", err)
		}
	}
	return nil
}

// withoutName has a client verify the chain of a server's certificate but not the name in it.
func withoutName(c *tls.Config) {
	roots, now := c.RootCAs, c.Time
	c.InsecureSkipVerify = true // VerifyConnection takes its place, but for the name.
	c.VerifyConnection = func(state tls.ConnectionState) error {
		return verifyChain(state.PeerCertificates, roots, now(), x509.ExtKeyUsageServerAuth)
	}
}

// verifyChain verifies a certificate, which stands first, with the others as intermediates.
func verifyChain(chain []*x509.Certificate, roots *x509.CertPool, now time.Time, usage x509.ExtKeyUsage) error {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}

// problem is the error for a key of a listener; where the key names a file, the file is told, too.
func problem(keys config.Listener, key, format string, args ...any) error {
	name := keys.Key(key)
	if path := keys.Text(key); path != "" && strings.HasSuffix(key, ".location") {
		name += "=" + path
	}
	return fmt.Errorf("listener %s: %s: %s", keys.Name, name, fmt.Sprintf(format, args...))
}
