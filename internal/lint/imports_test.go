// Package lint holds rules of the repository that the compiler doesn't know, as tests.
package lint

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ottla/ottla/"

// layers is the import table: a package may import packages of lower layers, and those that its
// row names. A package that no row covers fails the test. A pattern ending in /... covers the
// packages below it too. ARCHITECTURE.md explains the order.
var layers = []struct {
	level    int
	packages []string
	// sideways lists imports allowed within the same layer, "from to".
	sideways []string
	// denied lists lower layers' packages that this layer must do without.
	denied []string
}{
	{level: 0, packages: []string{"internal/kerror", "internal/clock", "internal/vfs", "internal/buf", "internal/javastring", "internal/uuid", "internal/metrics", "internal/lint"}},
	{level: 1, packages: []string{"log/batch", "log/files", "coordinator/machine", "internal/config", "internal/record/...", "internal/gen/..."}},
	{level: 2, packages: []string{"log/index", "log/producer", "log/epoch", "log/validate", "log/clean", "internal/tlsconfig/..."}},
	{level: 3, packages: []string{"log", "controller/image"}, denied: []string{"internal/record/offsets"}},
	{level: 4, packages: []string{"controller/decide", "coordinator/group/...", "replica/isr"},
		sideways: []string{"coordinator/group coordinator/group/classic"},
		denied:   []string{"log", "log/files", "log/index", "log/producer", "log/epoch", "log/validate", "log/clean"}},
	{level: 5, packages: []string{"controller", "coordinator/shard/...", "replica/..."},
		sideways: []string{"coordinator/shard/shardtest coordinator/shard"}},
	{level: 6, packages: []string{"coordinator/service"}},
	{level: 7, packages: []string{"wire/..."}, sideways: []string{"wire/wiretest wire"},
		denied: []string{"log", "log/batch", "log/clean", "log/files", "log/index", "log/producer", "log/epoch", "log/validate", "controller",
			"controller/image", "controller/decide", "coordinator/group", "coordinator/group/classic", "coordinator/shard", "replica",
			"internal/record/metadata", "internal/record/offsets"}},
	{level: 8, packages: []string{"handlers/..."}},
	{level: 9, packages: []string{"internal/server", "internal/dump"}},
	{level: 10, packages: []string{"", "cmd/...", "internal/testcluster"}},
}

// layerOf returns the row that covers a package, or -1.
func layerOf(pkg string) int {
	best, bestLen := -1, -1
	for i, l := range layers {
		for _, p := range l.packages {
			base, deep := strings.CutSuffix(p, "/...")
			if (pkg == base || deep && strings.HasPrefix(pkg, base+"/")) && len(base) > bestLen {
				best, bestLen = i, len(base)
			}
		}
	}
	return best
}

type listedPackage struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []listedPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// inRepo strips the module path; ok is false for packages of others.
func inRepo(importPath string) (string, bool) {
	if importPath+"/" == module {
		return "", true
	}
	return strings.CutPrefix(importPath, module)
}

// TestImportsPointOneWay fails on any import between our packages that the table doesn't allow,
// and on imports that are banned everywhere.
func TestImportsPointOneWay(t *testing.T) {
	packages := listPackages(t)
	if len(packages) < 10 {
		t.Fatalf("go list found %d packages only", len(packages))
	}
	for _, p := range packages {
		from, _ := inRepo(p.ImportPath)
		i := layerOf(from)
		if i < 0 {
			t.Errorf("%s is in no layer of the import table", from)
			continue
		}
		for _, imported := range p.Imports {
			if imported == "log" {
				t.Errorf("%s imports the standard log package; use log/slog", from)
			}
			to, ours := inRepo(imported)
			if !ours {
				continue
			}
			j := layerOf(to)
			switch {
			case j < 0:
				t.Errorf("%s imports %s, which is in no layer", from, to)
			case slices.Contains(layers[i].denied, to):
				t.Errorf("%s imports %s, which its layer must do without", from, to)
			case layers[j].level < layers[i].level:
			case layers[j].level == layers[i].level && slices.Contains(layers[i].sideways, from+" "+to):
			default:
				t.Errorf("%s (layer %d) imports %s (layer %d)", from, layers[i].level, to, layers[j].level)
			}
		}
	}
}

// TestTableCatchesUpwardImport shows that the table can fail: the lookups it rests on tell layers
// apart and cover sub-packages.
func TestTableCatchesUpwardImport(t *testing.T) {
	level := func(pkg string) int { return layers[layerOf(pkg)].level }
	if level("log/batch") >= level("log") || level("log") >= level("replica") || level("replica") >= level("handlers") {
		t.Error("log/batch < log < replica < handlers does not hold")
	}
	if layerOf(path.Join("handlers", "sub")) != layerOf("handlers") {
		t.Error("a pattern with /... does not cover sub-packages")
	}
	if layerOf("nobody/knows") != -1 {
		t.Error("an unknown package is in a layer")
	}
}
