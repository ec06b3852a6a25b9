package tlsconfig

import (
	"crypto"
	"crypto/cipher"
	"crypto/des"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"math/big"
	"slices"

	"github.com/youmark/pkcs8"
)

// encryptedKey is PKCS#8's EncryptedPrivateKeyInfo.
type encryptedKey struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

// maxIterations bounds the work that a file can ask for.
const maxIterations = 10_000_000

// decryptKey reads an encrypted PKCS#8 key: encrypted by PBES2, or by PBE-SHA1-3DES, which is what Kafka takes on Java
// before 19.
func decryptKey(der []byte, password string) (crypto.PrivateKey, error) {
	var k encryptedKey
	if rest, err := asn1.Unmarshal(der, &k); err != nil || len(rest) > 0 {
		return nil, errors.New("the private key can't be read")
	}
	switch id := k.Algorithm.Algorithm; {
	case id.Equal(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}): // PBES2
		key, _, err := pkcs8.ParsePrivateKey(der, []byte(password))
		if err != nil {
			return nil, errKeyPassword
		}
		return key, nil
	case id.Equal(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 1, 3}): // pbeWithSHAAnd3-KeyTripleDES-CBC
		return decryptTripleDES(k, password)
	}
	return nil, errors.New("the key isn't encrypted by PBES2 or PBE-SHA1-3DES: convert it with openssl pkcs8 -topk8 -v2 aes-256-cbc")
}

// decryptTripleDES is appendix C of RFC 7292.
func decryptTripleDES(k encryptedKey, password string) (crypto.PrivateKey, error) {
	var p struct {
		Salt       []byte
		Iterations int
	}
	if _, err := asn1.Unmarshal(k.Algorithm.Parameters.FullBytes, &p); err != nil || p.Iterations < 1 || p.Iterations > maxIterations ||
		len(k.Data) == 0 || len(k.Data)%des.BlockSize != 0 {
		return nil, errors.New("the private key can't be read")
	}
	secret := bmpString(password)
	block, err := des.NewTripleDESCipher(pkcs12KDF(secret, p.Salt, p.Iterations, 1, 24))
	if err != nil {
		return nil, err
	}
	plain := make([]byte, len(k.Data))
	cipher.NewCBCDecrypter(block, pkcs12KDF(secret, p.Salt, p.Iterations, 2, des.BlockSize)).CryptBlocks(plain, k.Data)
	// Padding that isn't whole, and bytes that are no key, both come of a wrong password.
	pad := int(plain[len(plain)-1])
	if pad < 1 || pad > des.BlockSize {
		return nil, errKeyPassword
	}
	key, err := x509.ParsePKCS8PrivateKey(plain[:len(plain)-pad])
	if err != nil {
		return nil, errKeyPassword
	}
	return key, nil
}

// bmpString is a password as PKCS#12 has it: UTF-16, with a zero at its end.
func bmpString(s string) []byte {
	return append(utf16Bytes(s), 0, 0)
}

// pkcs12KDF derives n bytes for a purpose (1 for a key, 2 for an initial vector): appendix B.2 of RFC 7292, with SHA-1.
func pkcs12KDF(password, salt []byte, iterations int, purpose byte, n int) []byte {
	const v = 64
	fill := func(b []byte) []byte { // repeats b up to a multiple of v
		if len(b) == 0 {
			return nil
		}
		size := (len(b) + v - 1) / v * v
		return slices.Repeat(b, size/len(b)+1)[:size]
	}
	in := append(fill(salt), fill(password)...)
	var out []byte
	for {
		sum := sha1.Sum(append(slices.Repeat([]byte{purpose}, v), in...))
		for range iterations - 1 {
			sum = sha1.Sum(sum[:])
		}
		if out = append(out, sum[:]...); len(out) >= n {
			return out[:n]
		}
		// Each block of in grows by the hash, repeated to the block's size, and one.
		add := new(big.Int).SetBytes(fill(sum[:])[:v])
		add.Add(add, big.NewInt(1))
		for i := 0; i < len(in); i += v {
			block := new(big.Int).SetBytes(in[i : i+v])
			block.Add(block, add)
			full := block.FillBytes(make([]byte, v+1))
			copy(in[i:i+v], full[1:])
		}
	}
}
