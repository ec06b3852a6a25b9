package tlsconfig

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/ottla/ottla/internal/config"
)

// keyPair is a private key with the chain of its certificate, leaf first.
type keyPair struct {
	key   crypto.PrivateKey
	chain []*x509.Certificate
}

var (
	// errPassword is what readers of stores return where the password doesn't fit.
	errPassword = errors.New("the password is wrong")
	// errKeyPassword is the same for the password of a key in a store.
	errKeyPassword = errors.New("the password of the key is wrong")
	// errNoKey tells that a store has certificates only.
	errNoKey = errors.New("there is no private key in it")
)

// keystoreKey is the key that messages about the keystore name.
func keystoreKey(keys config.Listener) string {
	if keys.IsSet("ssl.keystore.certificate.chain") {
		return "ssl.keystore.certificate.chain"
	}
	return "ssl.keystore.location"
}

// keystore reads the own keys and certificates; none where nothing is configured. Which keys go together is
// DefaultSslEngineFactory.createKeystore.
func (s Source) keystore(keys config.Listener) ([]tls.Certificate, error) {
	const location, password, inline, chain = "ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.key", "ssl.keystore.certificate.chain"
	kind := storeType(keys.Text("ssl.keystore.type"))
	var pairs []keyPair
	var err error
	at := location
	switch {
	case kind == "":
		return nil, unknownType(keys, "ssl.keystore.type")
	case keys.IsSet(inline) && kind != typePEM:
		return nil, problem(keys, inline, "a key can be given for PEM only, and ssl.keystore.type is %s", keys.Text("ssl.keystore.type"))
	case keys.IsSet(inline) && !keys.IsSet(chain):
		return nil, problem(keys, inline, "ssl.keystore.certificate.chain is missing")
	case keys.IsSet(inline) && keys.IsSet(location):
		return nil, problem(keys, location, "ssl.keystore.key is set, too: a keystore is either a file or inline")
	case keys.IsSet(chain) && !keys.IsSet(inline):
		return nil, problem(keys, chain, "ssl.keystore.key is missing")
	case kind == typePEM && keys.IsSet(password):
		return nil, problem(keys, password, "a PEM keystore has no password; that of its key is ssl.key.password")
	case keys.IsSet(inline):
		at = inline
		var pair keyPair
		if pair, err = readPEMPair(keys.Text(inline), keys.Text(chain), keys.Text("ssl.key.password")); err == nil {
			pairs = []keyPair{pair}
		}
	case !keys.IsSet(location) && keys.IsSet(password):
		return nil, problem(keys, password, "ssl.keystore.location is missing")
	case !keys.IsSet(location):
		return nil, nil
	case kind != typePEM && !keys.IsSet(password):
		return nil, problem(keys, location, "ssl.keystore.password is missing")
	default:
		pairs, err = s.keystoreFile(keys, kind)
	}
	if err != nil {
		return nil, storeProblem(keys, at, "ssl.keystore.password", err)
	}
	certificates := make([]tls.Certificate, 0, len(pairs))
	for _, p := range pairs {
		c, err := s.certificate(p)
		if err != nil {
			return nil, problem(keys, at, "%s", err)
		}
		certificates = append(certificates, c)
	}
	return certificates, nil
}

func (s Source) keystoreFile(keys config.Listener, kind string) ([]keyPair, error) {
	data, err := s.ReadFile(keys.Text("ssl.keystore.location"))
	if err != nil {
		return nil, err
	}
	password := keys.Text("ssl.keystore.password")
	keyPassword := password
	if keys.IsSet("ssl.key.password") {
		keyPassword = keys.Text("ssl.key.password")
	}
	if kind == typePEM {
		pair, err := readPEMPair(string(data), string(data), keys.Text("ssl.key.password"))
		return []keyPair{pair}, err
	}
	// Java looks at the file for either type, and keytool writes PKCS#12 unless it is told not to.
	if isJKS(data) {
		return readJKSPairs(data, password, keyPassword)
	}
	pair, err := readPKCS12Pair(data, password)
	return []keyPair{pair}, err
}

// certificate checks a pair and makes it what crypto/tls takes.
func (s Source) certificate(p keyPair) (tls.Certificate, error) {
	signer, ok := p.key.(crypto.Signer)
	if !ok {
		return tls.Certificate{}, fmt.Errorf("a key of type %T can't be used", p.key)
	}
	if len(p.chain) == 0 {
		return tls.Certificate{}, errors.New("the key has no certificate")
	}
	leaf := p.chain[0]
	if !samePublicKey(signer.Public(), leaf.PublicKey) {
		return tls.Certificate{}, fmt.Errorf("the private key isn't that of the first certificate (%s)", leaf.Subject)
	}
	switch now := s.Now(); {
	case now.After(leaf.NotAfter):
		return tls.Certificate{}, fmt.Errorf("the certificate of %s expired on %s", leaf.Subject, leaf.NotAfter.UTC().Format("2006-01-02 15:04:05 UTC"))
	case now.Before(leaf.NotBefore):
		return tls.Certificate{}, fmt.Errorf("the certificate of %s isn't valid before %s", leaf.Subject, leaf.NotBefore.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	c := tls.Certificate{PrivateKey: p.key, Leaf: leaf}
	for _, link := range p.chain {
		c.Certificate = append(c.Certificate, link.Raw)
	}
	return c, nil
}

func samePublicKey(a crypto.PublicKey, b any) bool {
	k, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && k.Equal(b)
}

// Types of stores; JKS and PKCS12 are told apart by their content.
const (
	typePEM    = "PEM"
	typeBinary = "JKS or PKCS12"
)

// storeType is the type that a setting names, empty for one that isn't known.
func storeType(setting string) string {
	switch strings.ToUpper(setting) {
	case "PEM":
		return typePEM
	case "JKS", "PKCS12":
		return typeBinary
	}
	return ""
}

func unknownType(keys config.Listener, key string) error {
	return problem(keys, key, "%s isn't known: it is PEM, PKCS12 or JKS", keys.Text(key))
}

// storeProblem says which key is to blame where a store can't be read; password is the key of the store's.
func storeProblem(keys config.Listener, at, password string, err error) error {
	switch {
	case errors.Is(err, errPassword):
		return problem(keys, at, "the password in %s is wrong, or the file is damaged", keys.Key(password))
	case errors.Is(err, errKeyPassword) && !keys.IsSet("ssl.key.password"):
		return problem(keys, at, "the private key has a password of its own: set ssl.key.password")
	case errors.Is(err, errKeyPassword):
		return problem(keys, at, "the password in %s is wrong", keys.Key("ssl.key.password"))
	}
	return problem(keys, at, "%s", err)
}
