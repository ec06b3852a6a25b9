// Package tlstest makes authorities and certificates for tests, in memory and valid around a given time.
package tlstest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/clock"
	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"github.com/youmark/pkcs8"
	"software.sslmate.com/src/go-pkcs12"
)

// Pair is a certificate with its key.
type Pair struct {
	Key   *ecdsa.PrivateKey
	Cert  *x509.Certificate
	chain []*x509.Certificate
	t     testing.TB
}

// Options say what is unusual of a certificate.
type Options struct {
	// NotBefore and NotAfter are an hour around now if they are zero.
	NotBefore, NotAfter time.Time
	// Names are DNS names and addresses; without any, localhost and 127.0.0.1.
	Names []string
	// CA makes an authority.
	CA bool
}

// Authority makes a certificate that signs itself and may sign others.
func Authority(t testing.TB, name string) *Pair {
	t.Helper()
	return issue(t, nil, name, Options{CA: true})
}

// Issue makes a certificate for servers and clients that p signs. An authority below p's carries itself in the chain.
func (p *Pair) Issue(name string, o Options) *Pair {
	p.t.Helper()
	return issue(p.t, p, name, o)
}

func issue(t testing.TB, by *Pair, name string, o Options) *Pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	if o.NotBefore.IsZero() {
		o.NotBefore = clock.System{}.Now().Add(-time.Hour)
	}
	if o.NotAfter.IsZero() {
		o.NotAfter = clock.System{}.Now().Add(time.Hour)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: o.NotBefore, NotAfter: o.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true, IsCA: o.CA,
	}
	if o.CA {
		template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageCertSign, nil
	}
	if len(o.Names) == 0 && !o.CA {
		o.Names = []string{"localhost", "127.0.0.1"}
	}
	for _, n := range o.Names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	p := &Pair{Key: key, t: t}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.Cert, by.Key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	if p.Cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	p.chain = []*x509.Certificate{p.Cert}
	if by != nil && !bytes.Equal(by.Cert.RawIssuer, by.Cert.RawSubject) {
		p.chain = append(p.chain, by.chain...)
	}
	return p
}

// Chain is the certificate and the authorities between it and the root.
func (p *Pair) Chain() []*x509.Certificate { return p.chain }

// TLS is the pair as crypto/tls takes it.
func (p *Pair) TLS() tls.Certificate {
	c := tls.Certificate{PrivateKey: p.Key, Leaf: p.Cert}
	for _, link := range p.chain {
		c.Certificate = append(c.Certificate, link.Raw)
	}
	return c
}

// Pool has the certificate only.
func (p *Pair) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.Cert)
	return pool
}

// CertificatesPEM is the chain as PEM.
func (p *Pair) CertificatesPEM() string {
	var b bytes.Buffer
	for _, c := range p.chain {
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // A buffer takes all.
	}
	return b.String()
}

// KeyPEM is the key as PKCS#8, encrypted if there is a password.
func (p *Pair) KeyPEM(password string) string {
	p.t.Helper()
	kind := "PRIVATE KEY"
	var pass []byte
	if password != "" {
		kind, pass = "ENCRYPTED PRIVATE KEY", []byte(password)
	}
	der, err := pkcs8.MarshalPrivateKey(p.Key, pass, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// PKCS12 is the pair as a keystore.
func (p *Pair) PKCS12(password string) []byte {
	p.t.Helper()
	b, err := pkcs12.Modern.Encode(p.Key, p.Cert, p.chain[1:], password)
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// TruststorePKCS12 is a truststore with the certificate.
func (p *Pair) TruststorePKCS12(password string) []byte {
	p.t.Helper()
	b, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{p.Cert}, password)
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// JKS is the pair as a keystore in Java's old format.
func (p *Pair) JKS(password, keyPassword string) []byte {
	p.t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		p.t.Fatal(err)
	}
	entry := keystore.PrivateKeyEntry{CreationTime: clock.System{}.Now(), PrivateKey: der}
	for _, c := range p.chain {
		entry.CertificateChain = append(entry.CertificateChain, keystore.Certificate{Type: "X509", Content: c.Raw})
	}
	ks := keystore.New()
	if err := ks.SetPrivateKeyEntry("own", entry, latin1(keyPassword)); err != nil {
		p.t.Fatal(err)
	}
	return p.storeJKS(ks, password)
}

// TruststoreJKS is a truststore with the certificate in Java's old format.
func (p *Pair) TruststoreJKS(password string) []byte {
	p.t.Helper()
	ks := keystore.New()
	err := ks.SetTrustedCertificateEntry("ca", keystore.TrustedCertificateEntry{
		CreationTime: clock.System{}.Now(), Certificate: keystore.Certificate{Type: "X509", Content: p.Cert.Raw},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return p.storeJKS(ks, password)
}

func (p *Pair) storeJKS(ks keystore.KeyStore, password string) []byte {
	p.t.Helper()
	var b bytes.Buffer
	if err := ks.Store(&b, latin1(password)); err != nil {
		p.t.Fatal(err)
	}
	return b.Bytes()
}

// latin1 is a password as keystore-go wants it: a byte a character.
func latin1(password string) []byte {
	var out []byte
	for _, c := range password {
		out = append(out, byte(c))
	}
	return out
}
