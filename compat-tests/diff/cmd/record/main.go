// Command record plays all cases against an oracle and writes the golden files.
//
// Usage: record [-dir golden] [-case regexp] [-check] BOOTSTRAP
//
// The oracle is Apache Kafka 4.4.0 with the lines of diff/oracle.properties. With -check nothing is
// written: differences between the golden files and the broker's answers are listed instead.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"

	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/ottla/ottla/compat-tests/diff/cases"
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
	flag.Parse()
	if flag.NArg() != 1 {
		return fmt.Errorf("one argument wanted: the oracle's host:port")
	}
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
	found := 0
	for _, t := range diff.Play(ctx, flag.Arg(0), list, *parallel) {
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
