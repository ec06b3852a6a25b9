package tlsconfig

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/tlsconfig/tlstest"
)

const secret = "s3cret-Pässword"

// files are what a Source reads.
type files map[string]string

func (f files) source() Source {
	return Source{Now: time.Now, ReadFile: func(name string) ([]byte, error) {
		if text, ok := f[name]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}}
}

// listener is the settings of a listener SSL with these keys.
func listener(t testing.TB, pairs ...string) config.Listener {
	t.Helper()
	static := map[string]string{"listeners": "SSL://localhost:9093", "security.inter.broker.protocol": "SSL"}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		static[k] = v
	}
	b, _, err := config.Load(static)
	if err != nil {
		t.Fatal(err)
	}
	return b.Listener("SSL")
}

// shake has a client and a server greet each other, and returns what both say.
func shake(t testing.TB, client, server *tls.Config) (state tls.ConnectionState, clientErr, serverErr error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			done <- err
			return
		}
		defer c.Close()
		s := tls.Server(c, server)
		if err = s.Handshake(); err == nil {
			_, err = s.Write([]byte("x"))
		}
		done <- err
		_, _ = s.Read(make([]byte, 1)) // Until the client has read it.
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if client.ServerName == "" {
		client = client.Clone()
		client.ServerName = "localhost"
	}
	k := tls.Client(c, client)
	if clientErr = k.Handshake(); clientErr == nil {
		state = k.ConnectionState()
		_, clientErr = k.Read(make([]byte, 1)) // TLS 1.3 tells of a refused client after the handshake.
	}
	c.Close()
	return state, clientErr, <-done
}

// oneLine joins the lines of a PEM text by spaces, as properties files have it.
func oneLine(text string) string {
	return strings.Join(strings.Split(strings.TrimSpace(text), "\n"), " ")
}

// TestStores gives a listener its key, and a client its trust, in each of Kafka's forms, and has them greet each
// other; the chain has an authority between, and what the client is shown is the own certificate.
func TestStores(t *testing.T) {
	root := tlstest.Authority(t, "root")
	between := root.Issue("between", tlstest.Options{CA: true})
	own := between.Issue("own", tlstest.Options{})
	f := files{
		"/p12": string(own.PKCS12(secret)), "/jks": string(own.JKS(secret, secret)), "/jks2": string(own.JKS(secret, "otherPassword")),
		"/pem": own.KeyPEM("") + own.CertificatesPEM(), "/pem2": own.CertificatesPEM() + own.KeyPEM(secret),
		"/trust.p12": string(root.TruststorePKCS12(secret)), "/trust.jks": string(root.TruststoreJKS(secret)), "/trust.pem": root.CertificatesPEM(),
		"/trust0.p12": string(root.TruststorePKCS12("")),
	}
	trust := [][]string{
		{"ssl.truststore.location=/trust.p12", "ssl.truststore.password=" + secret},
		{"ssl.truststore.location=/trust.p12", "ssl.truststore.password=" + secret, "ssl.truststore.type=PKCS12"},
		{"ssl.truststore.location=/trust0.p12"},
		{"ssl.truststore.location=/trust.jks", "ssl.truststore.password=" + secret},
		{"ssl.truststore.location=/trust.jks"},
		{"ssl.truststore.location=/trust.pem", "ssl.truststore.type=PEM"},
		{"ssl.truststore.certificates=" + oneLine(root.CertificatesPEM()), "ssl.truststore.type=PEM"},
	}
	for i, keys := range [][]string{
		{"ssl.keystore.location=/p12", "ssl.keystore.password=" + secret},
		{"ssl.keystore.location=/p12", "ssl.keystore.password=" + secret, "ssl.keystore.type=PKCS12"},
		{"ssl.keystore.location=/jks", "ssl.keystore.password=" + secret},
		{"ssl.keystore.location=/jks", "ssl.keystore.password=" + secret, "ssl.keystore.type=PKCS12"},
		{"ssl.keystore.location=/jks2", "ssl.keystore.password=" + secret, "ssl.key.password=otherPassword"},
		{"ssl.keystore.location=/pem", "ssl.keystore.type=PEM"},
		{"ssl.keystore.location=/pem2", "ssl.keystore.type=PEM", "ssl.key.password=" + secret},
		{"ssl.keystore.key=" + own.KeyPEM(""), "ssl.keystore.certificate.chain=" + own.CertificatesPEM(), "ssl.keystore.type=PEM"},
		{"ssl.keystore.key=" + oneLine(own.KeyPEM(secret)), "ssl.keystore.certificate.chain=" + oneLine(own.CertificatesPEM()), "ssl.keystore.type=PEM", "ssl.key.password=" + secret},
		// The prefix wins over a bare key, which names a file that isn't there.
		{"ssl.keystore.location=/gone", "ssl.keystore.password=wrong", "listener.name.ssl.ssl.keystore.location=/p12", "listener.name.ssl.ssl.keystore.password=" + secret},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			server, err := f.source().Server(listener(t, keys...))
			if err != nil {
				t.Fatal(err)
			}
			client, err := f.source().Client(listener(t, trust[i%len(trust)]...))
			if err != nil {
				t.Fatal(err)
			}
			state, clientErr, serverErr := shake(t, client.Config, server.Config)
			if clientErr != nil || serverErr != nil {
				t.Fatalf("client: %v, server: %v", clientErr, serverErr)
			}
			if state.Version != tls.VersionTLS13 || len(state.PeerCertificates) != 2 || !state.PeerCertificates[0].Equal(own.Cert) {
				t.Errorf("version %x, %d certificates", state.Version, len(state.PeerCertificates))
			}
		})
	}
}

// TestStoreProblems stops at everything that is wrong with stores: one line names the listener, the key, and the file,
// and says what to do; never a password.
func TestStoreProblems(t *testing.T) {
	root := tlstest.Authority(t, "root")
	own, other := root.Issue("own", tlstest.Options{}), root.Issue("other", tlstest.Options{})
	old := root.Issue("old", tlstest.Options{NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(-24 * time.Hour)})
	early := root.Issue("early", tlstest.Options{NotBefore: time.Now().Add(24 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour)})
	f := files{
		"/p12": string(own.PKCS12(secret)), "/jks": string(own.JKS(secret, secret)), "/jks2": string(own.JKS(secret, "otherPassword")),
		"/pem": own.KeyPEM("") + own.CertificatesPEM(), "/pem2": own.KeyPEM(secret) + own.CertificatesPEM(),
		"/nokey.pem": own.CertificatesPEM(), "/nocert.pem": own.KeyPEM(""), "/swapped.pem": own.KeyPEM("") + other.CertificatesPEM(),
		"/old.p12": string(old.PKCS12(secret)), "/early.p12": string(early.PKCS12(secret)),
		"/trust.p12": string(root.TruststorePKCS12(secret)), "/trust.jks": string(root.TruststoreJKS(secret)),
		"/empty": "", "/junk": "junk", "/cut.jks": string(own.JKS(secret, secret)[:100]), "/cut.p12": string(own.PKCS12(secret)[:100]),
		"/open.pem": "-----BEGIN CERTIFICATE-----\nAAAA", "/headers.pem": "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----",
	}
	good := []string{"ssl.keystore.location=/p12", "ssl.keystore.password=" + secret}
	for _, tc := range []struct {
		keys []string
		want string
	}{
		{nil, "ssl.keystore.location: an SSL listener needs a key"},
		{[]string{"ssl.keystore.location=/p12", "ssl.keystore.password=wrong" + secret}, "ssl.keystore.location=/p12: the password in ssl.keystore.password is wrong"},
		{[]string{"ssl.keystore.location=/jks", "ssl.keystore.password=wrong" + secret}, "ssl.keystore.location=/jks: the password in ssl.keystore.password is wrong"},
		{[]string{"listener.name.ssl.ssl.keystore.location=/jks", "listener.name.ssl.ssl.keystore.password=wrong" + secret},
			"listener.name.ssl.ssl.keystore.location=/jks: the password in listener.name.ssl.ssl.keystore.password is wrong"},
		{[]string{"ssl.keystore.location=/jks2", "ssl.keystore.password=" + secret}, "the private key has a password of its own: set ssl.key.password"},
		{[]string{"ssl.keystore.location=/jks2", "ssl.keystore.password=" + secret, "ssl.key.password=wrong"}, "the password in ssl.key.password is wrong"},
		{[]string{"ssl.keystore.location=/pem2", "ssl.keystore.type=PEM"}, "set ssl.key.password"},
		{[]string{"ssl.keystore.location=/pem2", "ssl.keystore.type=PEM", "ssl.key.password=wrong"}, "the password in ssl.key.password is wrong"},
		{[]string{"ssl.keystore.location=/gone", "ssl.keystore.password=" + secret}, "ssl.keystore.location=/gone: open /gone: file does not exist"},
		{[]string{"ssl.keystore.location=/p12"}, "ssl.keystore.location=/p12: ssl.keystore.password is missing"},
		{[]string{"ssl.keystore.password=" + secret}, "ssl.keystore.password: ssl.keystore.location is missing"},
		{[]string{"ssl.keystore.location=/pem", "ssl.keystore.type=PEM", "ssl.keystore.password=" + secret}, "a PEM keystore has no password"},
		{[]string{"ssl.keystore.key=k"}, "ssl.keystore.key: a key can be given for PEM only"},
		{[]string{"ssl.keystore.key=k", "ssl.keystore.type=PEM"}, "ssl.keystore.certificate.chain is missing"},
		{[]string{"ssl.keystore.certificate.chain=c", "ssl.keystore.type=PEM"}, "ssl.keystore.key is missing"},
		{[]string{"ssl.keystore.key=k", "ssl.keystore.certificate.chain=c", "ssl.keystore.type=PEM", "ssl.keystore.location=/pem"}, "either a file or inline"},
		{[]string{"ssl.keystore.key=" + own.KeyPEM(""), "ssl.keystore.certificate.chain=c", "ssl.keystore.type=PEM"}, "ssl.keystore.key: there is no certificate in it"},
		{[]string{"ssl.keystore.type=BKS"}, "ssl.keystore.type: BKS isn't known"},
		{[]string{"ssl.keystore.location=/nokey.pem", "ssl.keystore.type=PEM"}, "there is no private key in it"},
		{[]string{"ssl.keystore.location=/nocert.pem", "ssl.keystore.type=PEM"}, "there is no certificate in it"},
		{[]string{"ssl.keystore.location=/swapped.pem", "ssl.keystore.type=PEM"}, "the private key isn't that of the first certificate (CN=other)"},
		{[]string{"ssl.keystore.location=/open.pem", "ssl.keystore.type=PEM"}, "a PEM block doesn't end"},
		{[]string{"ssl.keystore.location=/headers.pem", "ssl.keystore.type=PEM"}, "openssl pkcs8 -topk8"},
		{[]string{"ssl.keystore.location=/trust.p12", "ssl.keystore.password=" + secret}, "there is no private key in it"},
		{[]string{"ssl.keystore.location=/trust.jks", "ssl.keystore.password=" + secret}, "there is no private key in it"},
		{[]string{"ssl.keystore.location=/old.p12", "ssl.keystore.password=" + secret}, "the certificate of CN=old expired on " + old.Cert.NotAfter.UTC().Format("2006-01-02")},
		{[]string{"ssl.keystore.location=/early.p12", "ssl.keystore.password=" + secret}, "the certificate of CN=early isn't valid before"},
		{[]string{"ssl.keystore.location=/empty", "ssl.keystore.password=" + secret}, "/empty: it can't be read"},
		{[]string{"ssl.keystore.location=/junk", "ssl.keystore.password=" + secret}, "/junk: it can't be read"},
		{[]string{"ssl.keystore.location=/cut.p12", "ssl.keystore.password=" + secret}, "/cut.p12: it can't be read"},
		{[]string{"ssl.keystore.location=/cut.jks", "ssl.keystore.password=" + secret}, "or the file is damaged"},
		{append(good, "ssl.truststore.location=/trust.p12", "ssl.truststore.password=wrong"), "ssl.truststore.location=/trust.p12: the password in ssl.truststore.password is wrong"},
		{append(good, "ssl.truststore.location=/trust.jks", "ssl.truststore.password=wrong"), "ssl.truststore.location=/trust.jks: the password in ssl.truststore.password is wrong"},
		{append(good, "ssl.truststore.password="+secret), "ssl.truststore.password: ssl.truststore.location is missing"},
		{append(good, "ssl.truststore.certificates=c"), "certificates can be given for PEM only"},
		{append(good, "ssl.truststore.certificates=c", "ssl.truststore.type=PEM"), "there is no certificate in it"},
		{append(good, "ssl.truststore.certificates=c", "ssl.truststore.type=PEM", "ssl.truststore.location=/x"), "either a file or inline"},
		{append(good, "ssl.truststore.type=PEM", "ssl.truststore.location=/gone"), "ssl.truststore.location=/gone: open /gone"},
		{append(good, "ssl.truststore.type=x"), "ssl.truststore.type: x isn't known"},
		{append(good, "ssl.enabled.protocols=TLSv1.1,TLSv1.2"), "ssl.enabled.protocols: TLSv1.1 isn't served: only TLSv1.2 and TLSv1.3 are"},
		{append(good, "ssl.protocol=SSLv3"), "ssl.protocol: SSLv3 isn't served"},
		{append(good, "ssl.cipher.suites=TLS_NO_SUCH"), "ssl.cipher.suites: none of TLS_NO_SUCH is served"},
		{append(good, "ssl.cipher.suites=TLS_AES_128_GCM_SHA256", "ssl.enabled.protocols=TLSv1.2"), "none of TLS_AES_128_GCM_SHA256 is served with ssl.enabled.protocols=TLSv1.2"},
	} {
		_, err := f.source().Server(listener(t, tc.keys...))
		if err == nil {
			t.Errorf("%v: no error", tc.keys)
			continue
		}
		text := err.Error()
		if !strings.HasPrefix(text, "listener SSL: ") || !strings.Contains(text, tc.want) || strings.Contains(text, "\n") || strings.Contains(text, secret) {
			t.Errorf("%v:\n%s\nwant %s", tc.keys, text, tc.want)
		}
	}
	for _, tc := range []struct {
		keys []string
		want string
	}{
		{append(good, "ssl.endpoint.identification.algorithm=LDAPS"), "ssl.endpoint.identification.algorithm: LDAPS is not known"},
		{append(good, "ssl.truststore.location=/p12", "ssl.truststore.password="+secret, "ssl.protocol=TLSv1.2", "ssl.enabled.protocols=TLSv1.3"), "TLSv1.2 isn't among"},
		{append(good, "ssl.truststore.type=PEM", "ssl.truststore.certificates="+other.CertificatesPEM()), "ssl.truststore.certificates: other nodes, which have the same truststore, would refuse"},
	} {
		if _, err := f.source().Client(listener(t, tc.keys...)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v, want %s", tc.keys, err, tc.want)
		}
	}
}

// TestEncryptedKeys reads a key in each encryption that OpenSSL offers for it and Java reads; files made by
// openssl pkcs8 -topk8 with -v2 aes-256-cbc, -v2 des3, -scrypt, -v1 PBE-SHA1-3DES, and, refused, -v1 PBE-MD5-DES.
func TestEncryptedKeys(t *testing.T) {
	read := func(name, password string) (crypto.PrivateKey, error) {
		text, err := os.ReadFile(filepath.Join("testdata", name+".pem"))
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := pemBlocks(string(text))
		if err != nil || len(blocks) != 1 {
			t.Fatal(err, len(blocks))
		}
		return parsePEMKey(blocks[0], password)
	}
	plain, err := read("plain", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pbes2-aes256", "pbes2-3des", "scrypt", "pbe-sha1-3des"} {
		key, err := read(name, secret)
		if err != nil || !plain.(*ecdsa.PrivateKey).Equal(key) {
			t.Errorf("%s: %v", name, err)
		}
		for i := range 50 {
			if _, err := read(name, fmt.Sprint("wrong", i)); !errors.Is(err, errKeyPassword) {
				t.Errorf("%s, wrong password: %v", name, err)
			}
			if name == "scrypt" {
				break // Slow on purpose.
			}
		}
	}
	if _, err := read("pbe-md5-des", secret); err == nil || !strings.Contains(err.Error(), "convert it with openssl") {
		t.Errorf("pbe-md5-des: %v", err)
	}
}

// FuzzStores reads what we read ourselves, of any content: an error, or something, but no panic, and no more memory than
// the store has. PKCS#12 and encrypted keys are left out: they say themselves how much work they want.
func FuzzStores(f *testing.F) {
	own := tlstest.Authority(f, "own")
	for _, seed := range [][]byte{own.JKS("p", "p"), own.TruststoreJKS("p"), []byte(own.KeyPEM("") + own.CertificatesPEM()), nil} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if entries, err := readJKS(data, "", false); err == nil {
			for _, e := range entries {
				if e.key == nil && len(e.chain) != 1 {
					t.Errorf("a trusted entry with %d certificates", len(e.chain))
				}
				if key, err := decryptJKSKey(e.key, "p"); err == nil && key == nil {
					t.Error("neither a key nor an error")
				}
			}
		}
		if certs, err := readPEMCertificates(string(data)); err == nil && len(certs) == 0 {
			t.Error("neither a certificate nor an error")
		}
		blocks, _ := pemBlocks(string(data))
		for _, b := range blocks {
			if key, err := parsePEMKey(b, ""); err == nil && key == nil {
				t.Error("neither a key nor an error")
			}
		}
	})
}

// TestKeystoreAsTruststore trusts the owner of a key in a truststore, as Java does, and nobody else whom its authority
// has signed.
func TestKeystoreAsTruststore(t *testing.T) {
	root := tlstest.Authority(t, "root")
	between := root.Issue("between", tlstest.Options{CA: true})
	own, sibling := between.Issue("own", tlstest.Options{}), between.Issue("sibling", tlstest.Options{})
	f := files{"/p12": string(own.PKCS12(secret)), "/jks": string(own.JKS(secret, secret))}
	for _, path := range []string{"/p12", "/jks"} {
		client, err := f.source().Client(listener(t, "ssl.truststore.location="+path, "ssl.truststore.password="+secret))
		if err != nil {
			t.Fatal(err)
		}
		if _, err, _ := shake(t, client.Config, &tls.Config{Certificates: []tls.Certificate{own.TLS()}}); err != nil {
			t.Errorf("%s: the owner: %v", path, err)
		}
		if _, err, _ := shake(t, client.Config, &tls.Config{Certificates: []tls.Certificate{sibling.TLS()}}); err == nil {
			t.Errorf("%s: another one of the same authority is trusted", path)
		}
	}
}

// TestProtocolsAndSuites says what a listener agrees on with clients of either version.
func TestProtocolsAndSuites(t *testing.T) {
	own := tlstest.Authority(t, "root").Issue("own", tlstest.Options{})
	keys := []string{"ssl.keystore.type=PEM", "ssl.keystore.key=" + own.KeyPEM(""), "ssl.keystore.certificate.chain=" + own.CertificatesPEM()}
	const gcm, chacha = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
	for _, tc := range []struct {
		more     string
		with12   string // what a client of TLS 1.2 gets; empty if nothing
		with13   bool
		warnings int
	}{
		{"", "any", true, 0},
		{"ssl.enabled.protocols=TLSv1.2", "any", false, 0},
		{"ssl.enabled.protocols=TLSv1.3", "", true, 0},
		{"ssl.enabled.protocols=", "any", true, 0},
		{"ssl.protocol=TLSv1.2", "any", true, 0},
		{"ssl.cipher.suites=" + gcm, gcm, false, 0},
		{"ssl.cipher.suites=" + chacha + ",TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", chacha, false, 1},
		{"ssl.cipher.suites=TLS_AES_256_GCM_SHA384," + gcm, gcm, true, 1},
		{"ssl.cipher.suites=TLS_AES_256_GCM_SHA384,TLS_AES_128_GCM_SHA256,TLS_CHACHA20_POLY1305_SHA256", "", true, 0},
	} {
		built, err := files{}.source().Server(listener(t, append(keys, tc.more)...))
		if err != nil {
			t.Fatalf("%s: %v", tc.more, err)
		}
		if len(built.Warnings) != tc.warnings {
			t.Errorf("%s: warnings %q", tc.more, built.Warnings)
		}
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			state, err, _ := shake(t, &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version}, built.Config)
			want := tc.with13
			if version == tls.VersionTLS12 {
				want = tc.with12 != ""
			}
			if (err == nil) != want {
				t.Errorf("%s, version %x: %v", tc.more, version, err)
			}
			if got := tls.CipherSuiteName(state.CipherSuite); err == nil && version == tls.VersionTLS12 && tc.with12 != "any" && got != tc.with12 {
				t.Errorf("%s: %s", tc.more, got)
			}
		}
		if _, err, _ := shake(t, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, built.Config); err == nil {
			t.Errorf("%s: TLS 1.1 is served", tc.more)
		}
	}
}

// TestClientAuth has clients with a certificate of the right authority, of another one, and without any.
func TestClientAuth(t *testing.T) {
	root, stranger := tlstest.Authority(t, "root"), tlstest.Authority(t, "stranger")
	own := root.Issue("own", tlstest.Options{})
	keys := []string{"ssl.keystore.type=PEM", "ssl.keystore.key=" + own.KeyPEM(""), "ssl.keystore.certificate.chain=" + own.CertificatesPEM(),
		"ssl.truststore.type=PEM", "ssl.truststore.certificates=" + root.CertificatesPEM()}
	for _, tc := range []struct {
		auth                  string
		none, right, stranger bool
	}{
		{"none", true, true, true}, {"requested", true, true, false}, {"required", false, true, false},
	} {
		built, err := files{}.source().Server(listener(t, append(keys, "ssl.client.auth="+tc.auth)...))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			cert *tlstest.Pair
			want bool
		}{{"none", nil, tc.none}, {"right", root.Issue("client", tlstest.Options{}), tc.right}, {"stranger", stranger.Issue("client", tlstest.Options{}), tc.stranger}} {
			client := &tls.Config{RootCAs: root.Pool()}
			if c.cert != nil {
				cert := c.cert.TLS()
				// Sent whatever authorities the server asks for.
				client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
			}
			_, err, serverErr := shake(t, client, built.Config)
			if (err == nil) != c.want || (serverErr == nil) != c.want {
				t.Errorf("ssl.client.auth=%s, %s: client %v, server %v", tc.auth, c.name, err, serverErr)
			}
		}
	}
}

// TestHostName has a client of this node verify, or not, the name in a broker's certificate, and always the chain.
func TestHostName(t *testing.T) {
	root, stranger := tlstest.Authority(t, "root"), tlstest.Authority(t, "stranger")
	elsewhere := root.Issue("own", tlstest.Options{Names: []string{"elsewhere.example"}})
	for _, tc := range []struct {
		algorithm string
		server    *tlstest.Pair
		want      bool
	}{
		{"https", root.Issue("own", tlstest.Options{}), true},
		{"HTTPS", elsewhere, false},
		{"", elsewhere, true},
		{"", stranger.Issue("own", tlstest.Options{}), false},
	} {
		client, err := files{}.source().Client(listener(t, "ssl.truststore.type=PEM", "ssl.truststore.certificates="+root.CertificatesPEM(),
			"ssl.endpoint.identification.algorithm="+tc.algorithm))
		if err != nil {
			t.Fatal(err)
		}
		if _, err, _ := shake(t, client.Config, &tls.Config{Certificates: []tls.Certificate{tc.server.TLS()}}); (err == nil) != tc.want {
			t.Errorf("%q, %v: %v", tc.algorithm, tc.server.Cert.DNSNames, err)
		}
	}
}

// TestReload shows the new certificate to connections after Store, and resumes sessions across it and within one
// configuration, in both versions.
func TestReload(t *testing.T) {
	root := tlstest.Authority(t, "root")
	first, second := root.Issue("first", tlstest.Options{}), root.Issue("second", tlstest.Options{})
	built := func(p *tlstest.Pair) *tls.Config {
		b, err := files{}.source().Server(listener(t, "ssl.keystore.type=PEM", "ssl.keystore.key="+p.KeyPEM(""), "ssl.keystore.certificate.chain="+p.CertificatesPEM()))
		if err != nil {
			t.Fatal(err)
		}
		return b.Config
	}
	r := NewReloadable(built(first))
	server := r.Config()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		r.Store(built(first))
		client := &tls.Config{RootCAs: root.Pool(), MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
		for i, want := range []bool{false, true, true} {
			if i == 2 {
				r.Store(built(second))
			}
			state, err, _ := shake(t, client, server)
			if err != nil || state.DidResume != want {
				t.Errorf("version %x, connection %d: resumed %t, %v", version, i, state.DidResume, err)
			}
		}
		state, err, _ := shake(t, &tls.Config{RootCAs: root.Pool(), MaxVersion: version}, server)
		if err != nil || !state.PeerCertificates[0].Equal(second.Cert) {
			t.Errorf("after Store: %v", err)
		}
	}
}
