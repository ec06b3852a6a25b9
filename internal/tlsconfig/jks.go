package tlsconfig

import (
	"bytes"
	"crypto"
	"crypto/sha1"
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// A JKS file, all numbers big-endian, texts with a length of two bytes before them:
//
//	u32 magic, u32 version (1 or 2), u32 number of entries
//	each: u32 kind, text alias, u64 time
//	  kind 1: u32 length, encrypted PKCS#8 key; u32 number of certificates, these
//	  kind 2: one certificate
//	a certificate: text type (version 2 only), u32 length, DER
//	SHA-1 of the password in UTF-16, "Mighty Aphrodite", and all of the above
//
// The reader is our own: the digest must be checked before lengths are believed, and passwords needn't be ASCII.
const (
	jksMagic      = 0xfeedfeed
	jksKey        = 1
	jksCert       = 2
	jksPhrase     = "Mighty Aphrodite"
	jksHeadLength = 12
)

var errJKS = errors.New("the JKS file is damaged")

// jksEntry is a key with its chain, or a certificate that is trusted.
type jksEntry struct {
	alias string
	// key is encrypted; nil for a certificate.
	key   []byte
	chain []*x509.Certificate
}

// isJKS tells a JKS file from PKCS#12.
func isJKS(data []byte) bool { return len(data) >= 4 && binary.BigEndian.Uint32(data) == jksMagic }

// readJKSPairs reads all keys of a JKS keystore, in order of their aliases.
func readJKSPairs(data []byte, password, keyPassword string) ([]keyPair, error) {
	entries, err := readJKS(data, password, true)
	if err != nil {
		return nil, err
	}
	var out []keyPair
	for _, e := range entries {
		if e.key == nil {
			continue
		}
		key, err := decryptJKSKey(e.key, keyPassword)
		if err != nil {
			return nil, err
		}
		out = append(out, keyPair{key, e.chain})
	}
	if len(out) == 0 {
		return nil, errNoKey
	}
	return out, nil
}

// readJKSTrusted reads who a JKS truststore trusts: its certificates, and, as in Java, the owner of a key in it. Without
// a password, which checked says, Java doesn't look at the digest.
func readJKSTrusted(data []byte, password string, checked bool) ([]*x509.Certificate, error) {
	entries, err := readJKS(data, password, checked)
	if err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	for _, e := range entries {
		if len(e.chain) > 0 {
			out = append(out, e.chain[0])
		}
	}
	return out, nil
}

// readJKS reads a whole store; checked says whether the password must fit.
func readJKS(data []byte, password string, checked bool) ([]jksEntry, error) {
	if len(data) < jksHeadLength+sha1.Size {
		return nil, errJKS
	}
	body, digest := data[:len(data)-sha1.Size], data[len(data)-sha1.Size:]
	if sum := sha1.Sum(slices.Concat(utf16Bytes(password), []byte(jksPhrase), body)); checked && !bytes.Equal(sum[:], digest) {
		return nil, errPassword
	}
	version, count := binary.BigEndian.Uint32(body[4:]), binary.BigEndian.Uint32(body[8:])
	if version != 1 && version != 2 {
		return nil, errJKS
	}
	r := jksReader{rest: body[jksHeadLength:], version: version}
	var out []jksEntry
	for range count {
		e, err := r.entry()
		if err == nil && r.short {
			err = errJKS
		}
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b jksEntry) int { return strings.Compare(a.alias, b.alias) })
	return out, nil
}

// jksReader takes values off the front of rest. Once something is missing, short is set and all values are empty.
type jksReader struct {
	rest    []byte
	version uint32
	short   bool
}

func (r *jksReader) take(n uint32) []byte {
	if r.short || uint64(n) > uint64(len(r.rest)) {
		r.short = true
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *jksReader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *jksReader) text() string {
	if b := r.take(2); b != nil {
		return string(r.take(uint32(binary.BigEndian.Uint16(b))))
	}
	return ""
}

func (r *jksReader) entry() (jksEntry, error) {
	kind := r.u32()
	e := jksEntry{alias: r.text()}
	r.take(8)
	certificates := uint32(1)
	switch kind {
	case jksKey:
		e.key = r.take(r.u32())
		certificates = r.u32()
	case jksCert:
	default:
		return e, errJKS
	}
	for range certificates {
		if r.version == 2 {
			r.text()
		}
		der := r.take(r.u32())
		if r.short {
			return e, errJKS
		}
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return e, fmt.Errorf("a certificate of %q can't be read: %w", e.alias, err)
		}
		e.chain = append(e.chain, c)
	}
	return e, nil
}

// decryptJKSKey undoes Java's own protection of keys: a salt, the key XORed with a chain of SHA-1, and a digest.
func decryptJKSKey(der []byte, password string) (crypto.PrivateKey, error) {
	var k encryptedKey
	if _, err := asn1.Unmarshal(der, &k); err != nil || len(k.Data) <= 2*sha1.Size ||
		!k.Algorithm.Algorithm.Equal(asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 42, 2, 17, 1, 1}) {
		return nil, errJKS
	}
	secret := utf16Bytes(password)
	chain, sealed, digest := k.Data[:sha1.Size], k.Data[sha1.Size:len(k.Data)-sha1.Size], k.Data[len(k.Data)-sha1.Size:]
	plain := make([]byte, 0, len(sealed))
	for len(plain) < len(sealed) {
		sum := sha1.Sum(slices.Concat(secret, chain))
		chain = sum[:]
		for _, b := range chain {
			if len(plain) < len(sealed) {
				plain = append(plain, sealed[len(plain)]^b)
			}
		}
	}
	if sum := sha1.Sum(slices.Concat(secret, plain)); !bytes.Equal(sum[:], digest) {
		return nil, errKeyPassword
	}
	key, err := x509.ParsePKCS8PrivateKey(plain)
	if err != nil {
		return nil, fmt.Errorf("the private key can't be read: %w", err)
	}
	return key, nil
}

// utf16Bytes is a text in big-endian UTF-16.
func utf16Bytes(s string) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u>>8), byte(u))
	}
	return out
}
