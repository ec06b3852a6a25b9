// Command ottla is a Kafka-compatible broker: without arguments a single node on localhost:9092.
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"
)

// version is set by the linker.
var version = "unknown"

// cli is the command line. Settings come from, in rising order of precedence: the zero
// configuration (only where nothing else names a listener or a directory), the file, the environment,
// and -o.
type cli struct {
	Serve   serveCommand   `cmd:"" default:"withargs" help:"Run a node (the default command)."`
	DumpLog dumpCommand    `cmd:"" help:"Print the files of a log directory, as kafka-dump-log does."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run() error {
	_, err := fmt.Println("ottla", version)
	return err
}

func main() {
	ctx := kong.Parse(&cli{}, kong.Name("ottla"),
		kong.Description("A Kafka-compatible broker. KAFKA_* environment variables set configuration keys as in the official Kafka container image."),
		kong.UsageOnError())
	if err := ctx.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "ottla:", err)
		os.Exit(1)
	}
}
