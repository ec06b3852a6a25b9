package config

import (
	"fmt"
	"io"
	"strings"

	"github.com/magiconair/properties"
)

// maxFileBytes bounds a properties file.
const maxFileBytes = 16 << 20

// LoadProperties reads a file as java.util.Properties does: = or : or space between key and value,
// continued lines, escapes, later keys win. ${} is left as it is. ISO-8859-1 isn't assumed: the file
// is UTF-8, as Kafka's own files are.
func LoadProperties(r io.Reader) (map[string]string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("properties file is larger than %d bytes", maxFileBytes)
	}
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	p, err := loader.LoadBytes(data)
	if err != nil {
		return nil, err
	}
	return p.Map(), nil
}

// ParseOverride reads a key=value of the command line.
func ParseOverride(s string) (key, value string, err error) {
	key, value, ok := strings.Cut(s, "=")
	if key = strings.TrimSpace(key); !ok || key == "" {
		return "", "", fmt.Errorf("override %q is not of the form key=value", s)
	}
	return key, value, nil
}
