// Command record plays all cases against an oracle and writes the golden files.
//
// Usage: record [-dir golden] [-case regexp] [-check] BOOTSTRAP | -kafka LIBS
//
// The oracle is Apache Kafka 4.4.0 with the lines of diff/oracle.properties: the one at BOOTSTRAP, or one that is
// started from the jars in LIBS. With -check nothing is written: differences between the golden files and the
// broker's answers are listed instead.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"

	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/ottla/ottla/compat-tests/diff/cases"
	"github.com/ottla/ottla/compat-tests/harness"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run() error {
	dir := flag.String("dir", "golden", "directory of the golden files")
	pattern := flag.String("case", "", "regular expression that chooses cases by name")
	check := flag.Bool("check", false, "compare instead of writing")
	parallel := flag.Int("parallel", 8, "cases at once")
	libs := flag.String("kafka", "", "directory with Kafka's jars: start the oracle from them")
	flag.Parse()
	chosen, err := regexp.Compile(*pattern)
	if err != nil {
		return err
	}
	var list []diff.Case
	for _, c := range cases.All() {
		if chosen.MatchString(c.Name) {
			list = append(list, c)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	address, stopOracle, err := oracle(ctx, *libs)
	if err != nil {
		return err
	}
	defer stopOracle()
	found := 0
	for _, t := range diff.Play(ctx, address, list, *parallel) {
		if t == nil {
			continue
		}
		if !*check {
			if err := diff.WriteGolden(*dir, t); err != nil {
				return err
			}
			continue
		}
		want, err := diff.ReadGolden(*dir, t.Case)
		if err != nil {
			return err
		}
		for _, d := range diff.Compare(want, t, nil) {
			fmt.Println(d.Case, d)
			found++
		}
	}
	if found > 0 {
		return fmt.Errorf("%d differences", found)
	}
	return ctx.Err()
}

// oracle is the address of the broker to ask, and what ends it if it was started here.
func oracle(ctx context.Context, libs string) (address string, stop func(), err error) {
	if libs == "" {
		if flag.NArg() != 1 {
			return "", nil, fmt.Errorf("one argument wanted: the oracle's host:port")
		}
		return flag.Arg(0), func() {}, nil
	}
	properties, err := os.ReadFile(filepath.Join("diff", "oracle.properties"))
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "oracle-")
	if err != nil {
		return "", nil, err
	}
	b, err := harness.StartKafka(ctx, libs, harness.Options{Dir: dir, Properties: string(properties)})
	if err != nil {
		return "", nil, err
	}
	return b.Address, func() {
		_ = b.Stop() // A JVM that is told to end says so by its exit code.
		_ = os.RemoveAll(dir)
	}, nil
}
