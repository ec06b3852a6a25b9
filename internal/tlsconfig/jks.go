package tlsconfig

import (
	"bytes"
	"crypto/sha1"
	"crypto/x509"
	"encoding/binary"
	"fmt"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
)

const (
	jksMagic = 0xfeedfeed
	// noPassword signs a copy of a truststore that is read without its password.
	noPassword = "none"
	// jksMinBytes is magic, version, count and digest.
	jksMinBytes = 12 + sha1.Size
)

// isJKS tells a JKS file from PKCS#12.
func isJKS(data []byte) bool { return len(data) >= 4 && binary.BigEndian.Uint32(data) == jksMagic }

// readJKSPairs reads all keys of a JKS keystore, in order of their aliases.
func readJKSPairs(data []byte, password, keyPassword string) ([]keyPair, error) {
	ks := keystore.New(keystore.WithOrderedAliases())
	if err := loadJKS(ks, data, password); err != nil {
		return nil, err
	}
	var out []keyPair
	for _, alias := range ks.Aliases() {
		if !ks.IsPrivateKeyEntry(alias) {
			continue
		}
		entry, err := ks.GetPrivateKeyEntry(alias, []byte(keyPassword))
		if err != nil {
			return nil, errKeyPassword
		}
		var p keyPair
		if p.key, err = x509.ParsePKCS8PrivateKey(entry.PrivateKey); err != nil {
			return nil, fmt.Errorf("the private key %s can't be read: %w", alias, err)
		}
		for _, c := range entry.CertificateChain {
			cert, err := x509.ParseCertificate(c.Content)
			if err != nil {
				return nil, fmt.Errorf("a certificate of %s can't be read: %w", alias, err)
			}
			p.chain = append(p.chain, cert)
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, errNoKey
	}
	return out, nil
}

// readJKSTrusted reads who a JKS truststore trusts: its certificates, and, as in Java, the owner of a key in it.
func readJKSTrusted(data []byte, password string, checked bool) ([]*x509.Certificate, error) {
	if !checked {
		if len(data) < jksMinBytes {
			return nil, errPassword
		}
		data, password = signedJKS(data, noPassword), noPassword
	}
	ks := keystore.New(keystore.WithOrderedAliases())
	if err := loadJKS(ks, data, password); err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	for _, alias := range ks.Aliases() {
		var der []byte
		if entry, err := ks.GetTrustedCertificateEntry(alias); err == nil {
			der = entry.Certificate.Content
		} else if chain, err := ks.GetPrivateKeyEntryCertificateChain(alias); err == nil && len(chain) > 0 {
			der = chain[0].Content
		} else {
			continue
		}
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("the certificate %s can't be read: %w", alias, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// loadJKS fills ks; a wrong password and a damaged file look the same.
func loadJKS(ks keystore.KeyStore, data []byte, password string) error {
	if err := ks.Load(bytes.NewReader(data), []byte(password)); err != nil {
		return errPassword
	}
	return nil
}

// signedJKS is a copy of a store with the digest of another password. The digest is SHA-1 of the password in UTF-16, a
// phrase, and the store.
func signedJKS(data []byte, password string) []byte {
	body := data[:len(data)-sha1.Size]
	h := sha1.New()
	for _, c := range []byte(password) {
		h.Write([]byte{0, c})
	}
	h.Write([]byte("Mighty Aphrodite"))
	h.Write(body)
	return append(append([]byte{}, body...), h.Sum(nil)...)
}
