package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestOutputIsCurrent generates the packages again and compares with what is committed, and that
// nothing else claims to be generated.
func TestOutputIsCurrent(t *testing.T) {
	for pkg, schemas := range map[string]string{
		"offsets": "schemas/consumer-offsets", "transactions": "schemas/transaction-state", "metadata": "schemas/metadata-log",
		"share": "schemas/share-group-state", "raftcontrol": "schemas/raft-control",
	} {
		fresh, committed := t.TempDir(), filepath.Join("../record", pkg)
		if err := run(pkg, schemas, fresh); err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(fresh, "*_gen.go"))
		if err != nil {
			t.Fatal(err)
		}
		old, err := filepath.Glob(filepath.Join(committed, "*_gen.go"))
		if err != nil {
			t.Fatal(err)
		}
		if len(old) != len(names) {
			t.Errorf("%s has %d generated files, want %d", pkg, len(old), len(names))
		}
		for _, name := range names {
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(committed, filepath.Base(name)))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s/%s isn't current: run go generate", pkg, filepath.Base(name))
			}
		}
	}
}

// TestRefusedSchemas checks that the generator fails on what it doesn't support rather than write
// code that is wrong.
func TestRefusedSchemas(t *testing.T) {
	for name, schema := range map[string]string{
		"unknown type":     `{"name":"A","type":"metadata","validVersions":"0","flexibleVersions":"0+","fields":[{"name":"X","type":"int128","versions":"0+"}]}`,
		"partly tagged":    `{"name":"A","type":"metadata","validVersions":"0-1","flexibleVersions":"0+","fields":[{"name":"X","type":"int8","versions":"0+","taggedVersions":"1+","tag":0}]}`,
		"partly nullable":  `{"name":"A","type":"metadata","validVersions":"0-1","flexibleVersions":"0+","fields":[{"name":"X","type":"string","versions":"0+","nullableVersions":"1+"}]}`,
		"malformed ranges": `{"name":"A","type":"metadata","validVersions":"zero","flexibleVersions":"0+","fields":[]}`,
		"not JSON":         `{`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "A.json"), []byte(schema), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run("p", dir, t.TempDir()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
