package tlsconfig

import (
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// pemBlocks finds the blocks of a text. Unlike encoding/pem it takes a block whose lines were joined by spaces, as a
// value in a properties file has it and Kafka reads it.
func pemBlocks(text string) ([]pem.Block, error) {
	const begin, end, dashes = "-----BEGIN ", "-----END ", "-----"
	var out []pem.Block
	for {
		_, rest, ok := strings.Cut(text, begin)
		if !ok {
			return out, nil
		}
		kind, rest, ok := strings.Cut(rest, dashes)
		body, rest, ended := strings.Cut(rest, end+kind+dashes)
		if !ok || !ended {
			return nil, errors.New("a PEM block doesn't end")
		}
		if strings.Contains(body, ":") { // Headers, as old OpenSSL writes them for encrypted keys.
			return nil, fmt.Errorf("the %s has headers: convert it with openssl pkcs8 -topk8", kind)
		}
		der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(body), ""))
		if err != nil {
			return nil, fmt.Errorf("the %s isn't base64", kind)
		}
		out = append(out, pem.Block{Type: kind, Bytes: der})
		text = rest
	}
}

// readPEMPair reads a key from one text and its certificates, leaf first, from another, which may be the same.
func readPEMPair(key, chain, password string) (keyPair, error) {
	var p keyPair
	blocks, err := pemBlocks(key)
	if err != nil {
		return p, err
	}
	for _, b := range blocks {
		if !strings.HasSuffix(b.Type, "PRIVATE KEY") {
			continue
		}
		if p.key != nil {
			return p, errors.New("there are several private keys in it")
		}
		if p.key, err = parsePEMKey(b, password); err != nil {
			return p, err
		}
	}
	if p.key == nil {
		return p, errNoKey
	}
	p.chain, err = readPEMCertificates(chain)
	return p, err
}

// parsePEMKey reads PKCS#8, which is all that Kafka takes, and the two older forms, which OpenSSL still writes.
func parsePEMKey(b pem.Block, password string) (crypto.PrivateKey, error) {
	var key any
	var err error
	switch b.Type {
	case "ENCRYPTED PRIVATE KEY":
		if password == "" {
			return nil, errKeyPassword
		}
		return decryptKey(b.Bytes, password)
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(b.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(b.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(b.Bytes)
	default:
		return nil, fmt.Errorf("a %s can't be used", b.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("the private key can't be read: %w", err)
	}
	return key, nil
}

// readPEMCertificates reads all certificates of a text.
func readPEMCertificates(text string) ([]*x509.Certificate, error) {
	blocks, err := pemBlocks(text)
	if err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	for _, b := range blocks {
		if b.Type != "CERTIFICATE" && b.Type != "TRUSTED CERTIFICATE" && b.Type != "X509 CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("a certificate can't be read: %w", err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, errors.New("there is no certificate in it")
	}
	return out, nil
}
