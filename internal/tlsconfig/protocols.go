package tlsconfig

import (
	"crypto/tls"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/config"
)

// protocols reads ssl.enabled.protocols and checks ssl.protocol.
func protocols(keys config.Listener, b *Built) error {
	const key = "ssl.enabled.protocols"
	for _, name := range keys.List(key) {
		var version uint16
		switch name {
		case "TLSv1.2":
			version = tls.VersionTLS12
		case "TLSv1.3":
			version = tls.VersionTLS13
		default:
			return problem(keys, key, "%s isn't served: only TLSv1.2 and TLSv1.3 are", name)
		}
		if b.MinVersion == 0 || version < b.MinVersion {
			b.MinVersion = version
		}
		b.MaxVersion = max(b.MaxVersion, version)
	}
	if b.MinVersion == 0 { // An empty list is the runtime's choice, in Java as well.
		b.MinVersion = tls.VersionTLS12
	}
	switch name := keys.Text("ssl.protocol"); name {
	case "TLS", "TLSv1.2", "TLSv1.3":
		return nil
	default:
		return problem(keys, "ssl.protocol", "%s isn't served: it is TLSv1.3, TLSv1.2 or TLS", name)
	}
}

// suites reads ssl.cipher.suites. Those of TLS 1.3 can't be chosen: they are all served, or none. Names that are
// missing here are left out, as long as any is left: what remains is what the operator allows.
func suites(keys config.Listener, b *Built) error {
	const key = "ssl.cipher.suites"
	wanted := keys.List(key)
	if len(wanted) == 0 {
		return nil
	}
	known := append(tls.CipherSuites(), tls.InsecureCipherSuites()...)
	var unknown, new13, missing13 []string
	for _, s := range known {
		if slices.Contains(s.SupportedVersions, tls.VersionTLS13) && !slices.Contains(wanted, s.Name) {
			missing13 = append(missing13, s.Name)
		}
	}
	for _, name := range wanted {
		i := slices.IndexFunc(known, func(s *tls.CipherSuite) bool { return s.Name == name })
		switch {
		case i < 0:
			unknown = append(unknown, name)
		case slices.Contains(known[i].SupportedVersions, tls.VersionTLS13):
			new13 = append(new13, name)
		default:
			b.CipherSuites = append(b.CipherSuites, known[i].ID)
		}
	}
	modern := len(new13) > 0 && b.MaxVersion != tls.VersionTLS12
	old := len(b.CipherSuites) > 0 && b.MinVersion == tls.VersionTLS12
	switch {
	case !modern && !old:
		return problem(keys, key, "none of %s is served with ssl.enabled.protocols=%s", strings.Join(wanted, ","), strings.Join(keys.List("ssl.enabled.protocols"), ","))
	case !modern:
		b.MaxVersion = tls.VersionTLS12
	case !old:
		b.MinVersion, b.CipherSuites = tls.VersionTLS13, nil
	}
	if modern && len(missing13) > 0 {
		b.Warnings = append(b.Warnings, keys.Key(key)+": suites of TLS 1.3 can't be chosen one by one; also served: "+strings.Join(missing13, ", "))
	}
	if len(unknown) > 0 {
		b.Warnings = append(b.Warnings, keys.Key(key)+": not served: "+strings.Join(unknown, ", "))
	}
	return nil
}
