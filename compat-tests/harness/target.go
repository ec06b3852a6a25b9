package harness

import (
	"context"
	"errors"
	"os"
)

// Target is the broker under test: the one at BOOTSTRAP, or else one started from the binary OTTLA_BIN. The
// returned function ends what was started.
func Target(ctx context.Context, dir, properties string) (address string, stop func() error, err error) {
	if address := os.Getenv("BOOTSTRAP"); address != "" {
		return address, func() error { return nil }, nil
	}
	bin := os.Getenv("OTTLA_BIN")
	if bin == "" {
		return "", nil, errors.New("set OTTLA_BIN to the binary to test (make build puts it in bin/ottla), or BOOTSTRAP to a running broker")
	}
	b, err := Start(ctx, Options{Bin: bin, Dir: dir, Properties: properties})
	if err != nil {
		return "", nil, err
	}
	return b.Address, b.Stop, nil
}
