// Command gen turns Kafka's record schemas (JSON) into Go types with AppendTo and ReadFrom.
//
// It covers what kmsg doesn't: the metadata log's records and the keys and values of the
// coordinators' topics, the latter also as JSON like Kafka's tools print it. The schemas below schemas/ are field-only copies of those in Kafka's jars,
// plus ClusterRecord, which is ours. Packages that hold the output call it by go generate:
//
//	go run ./internal/gen -package offsets -schemas internal/gen/schemas/consumer-offsets -out internal/record/offsets
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

func main() {
	pkg := flag.String("package", "", "name of the generated package")
	schemas := flag.String("schemas", "", "directory with the schemas")
	out := flag.String("out", ".", "directory to write to")
	flag.Parse()
	if err := run(*pkg, *schemas, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(pkg, schemaDir, outDir string) error {
	names, err := filepath.Glob(filepath.Join(schemaDir, "*.json"))
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("no schemas in %q", schemaDir)
	}
	var all []*message
	for _, name := range names {
		m, err := readSchema(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, m)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].APIKey < all[j].APIKey })
	files, err := generate(pkg, all)
	if err != nil {
		return err
	}
	for name, src := range files {
		if err := os.WriteFile(filepath.Join(outDir, name), src, 0o644); err != nil {
			return err
		}
	}
	return nil
}
