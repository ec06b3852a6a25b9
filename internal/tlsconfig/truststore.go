package tlsconfig

import (
	"crypto/x509"
	"errors"

	"github.com/ottla/ottla/internal/config"
)

var errNoTrusted = errors.New("there is no trusted certificate in it")

// truststoreKey is the key that messages about the truststore name.
func truststoreKey(keys config.Listener) string {
	if keys.IsSet("ssl.truststore.certificates") {
		return "ssl.truststore.certificates"
	}
	return "ssl.truststore.location"
}

// truststore reads who is trusted; nil, which is the system's choice, where nothing is configured. Which keys go
// together is DefaultSslEngineFactory.createTruststore.
func (s Source) truststore(keys config.Listener) (*x509.CertPool, error) {
	const location, password, inline = "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.certificates"
	kind := storeType(keys.Text("ssl.truststore.type"))
	var certs []*x509.Certificate
	var err error
	switch {
	case kind == "":
		return nil, unknownType(keys, "ssl.truststore.type")
	case keys.IsSet(inline) && kind != typePEM:
		return nil, problem(keys, inline, "certificates can be given for PEM only, and ssl.truststore.type is %s", keys.Text("ssl.truststore.type"))
	case keys.IsSet(inline) && keys.IsSet(location):
		return nil, problem(keys, location, "ssl.truststore.certificates is set, too: a truststore is either a file or inline")
	case kind == typePEM && keys.IsSet(password):
		return nil, problem(keys, password, "a PEM truststore has no password")
	case keys.IsSet(inline):
		certs, err = readPEMCertificates(keys.Text(inline))
	case !keys.IsSet(location) && keys.IsSet(password):
		return nil, problem(keys, password, "ssl.truststore.location is missing")
	case !keys.IsSet(location):
		return nil, nil
	default:
		certs, err = s.truststoreFile(keys, kind)
	}
	if err == nil && len(certs) == 0 {
		err = errNoTrusted
	}
	if err != nil {
		return nil, storeProblem(keys, truststoreKey(keys), password, err)
	}
	pool := x509.NewCertPool()
	for _, c := range certs {
		pool.AddCert(c)
	}
	return pool, nil
}

func (s Source) truststoreFile(keys config.Listener, kind string) ([]*x509.Certificate, error) {
	data, err := s.ReadFile(keys.Text("ssl.truststore.location"))
	if err != nil {
		return nil, err
	}
	password := keys.Text("ssl.truststore.password")
	switch {
	case kind == typePEM:
		return readPEMCertificates(string(data))
	case isJKS(data):
		// Without a password Java doesn't check the file's digest.
		return readJKSTrusted(data, password, keys.IsSet("ssl.truststore.password"))
	}
	return readPKCS12Trusted(data, password)
}
