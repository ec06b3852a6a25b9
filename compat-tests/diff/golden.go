package diff

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// GoldenPath is where a case's golden file is below a directory.
func GoldenPath(dir, caseName string) string {
	return filepath.Join(dir, filepath.FromSlash(caseName)+".txt")
}

// ReadGolden reads a case's golden file.
func ReadGolden(dir, caseName string) (*Transcript, error) {
	b, err := os.ReadFile(GoldenPath(dir, caseName))
	if err != nil {
		return nil, err
	}
	t, err := ParseTranscript(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", GoldenPath(dir, caseName), err)
	}
	if t.Case != caseName {
		return nil, fmt.Errorf("%s is of case %q", GoldenPath(dir, caseName), t.Case)
	}
	return t, nil
}

// WriteGolden writes a case's golden file.
func WriteGolden(dir string, t *Transcript) error {
	path := GoldenPath(dir, t.Case)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(t.Text()), 0o644)
}

// GoldenCases lists the cases that have a golden file.
func GoldenCases(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.txt"))
	if err != nil {
		return nil, err
	}
	for i, p := range paths {
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return nil, err
		}
		paths[i] = strings.TrimSuffix(filepath.ToSlash(rel), ".txt")
	}
	return paths, nil
}
