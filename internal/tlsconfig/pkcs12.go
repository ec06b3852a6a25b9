package tlsconfig

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"

	"software.sslmate.com/src/go-pkcs12"
)

// readPKCS12Pair reads the key of a PKCS#12 keystore, with the chain of its certificate.
func readPKCS12Pair(data []byte, password string) (keyPair, error) {
	key, first, others, err := pkcs12.DecodeChain(data, password)
	if err != nil {
		return keyPair{}, pkcs12Problem(err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return keyPair{}, fmt.Errorf("a key of type %T can't be used", key)
	}
	// The certificates stand in any order, and may include some that are trusted.
	all := append([]*x509.Certificate{first}, others...)
	p := keyPair{key: key}
	for _, c := range all {
		if samePublicKey(signer.Public(), c.PublicKey) {
			p.chain = chainFrom(c, all)
			break
		}
	}
	return p, nil
}

// chainFrom follows the issuers of a certificate as far as they are there.
func chainFrom(leaf *x509.Certificate, all []*x509.Certificate) []*x509.Certificate {
	chain := []*x509.Certificate{leaf}
	for last := leaf; !bytes.Equal(last.RawSubject, last.RawIssuer) && len(chain) <= len(all); {
		var issuer *x509.Certificate
		for _, c := range all {
			if bytes.Equal(c.RawSubject, last.RawIssuer) && last.CheckSignatureFrom(c) == nil {
				issuer = c
				break
			}
		}
		if issuer == nil {
			break
		}
		chain = append(chain, issuer)
		last = issuer
	}
	return chain
}

// readPKCS12Trusted reads who a PKCS#12 truststore trusts: the certificates that Java marks as trusted, or, of a store
// with a key, its owner.
func readPKCS12Trusted(data []byte, password string) ([]*x509.Certificate, error) {
	certs, err := pkcs12.DecodeTrustStore(data, password)
	if err == nil || errors.Is(err, pkcs12.ErrIncorrectPassword) {
		return certs, pkcs12Problem(err)
	}
	pair, pairErr := readPKCS12Pair(data, password)
	if pairErr != nil || len(pair.chain) == 0 {
		return nil, pkcs12Problem(err)
	}
	return pair.chain[:1], nil
}

// pkcs12Problem is what is wrong with a store.
func pkcs12Problem(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pkcs12.ErrIncorrectPassword), errors.Is(err, pkcs12.ErrDecryption):
		return errPassword
	}
	switch err.Error() {
	case "pkcs12: private key missing":
		return errNoKey
	case "pkcs12: expected exactly one key bag":
		return errors.New("there are several private keys in it; one PKCS#12 file holds one")
	case "pkcs12: trust store contains a certificate that is not marked as trusted":
		return errors.New("it has a certificate that isn't marked as trusted, which Java wouldn't trust: import it with keytool -importcert")
	}
	return fmt.Errorf("it can't be read: %w", err)
}
