package handlers

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
)

// codeOf is the code to answer for err. What carries none is a bug or a broken promise: it is
// logged, with what was being done, and answered as UNKNOWN_SERVER_ERROR. Where a package answers that on
// purpose, as Kafka does for a batch that can't be unpacked, the client is to blame, which an operator
// needn't read about at the rate of its requests.
func (d *Deps) codeOf(err error, doing string, args ...any) int16 {
	code := kerror.CodeOf(err)
	if code == kerr.UnknownServerError.Code {
		args = append([]any{"doing", doing, "error", err}, args...)
		if errors.Is(err, kerr.UnknownServerError) {
			d.Logger.Debug("request failed", args...)
		} else {
			d.Logger.Error("unexpected error", args...)
		}
	}
	return code
}

// wantsLeaderHint says whether an error tells the client to look for the leader elsewhere.
func wantsLeaderHint(err error) bool {
	return errors.Is(err, kerr.NotLeaderForPartition) || errors.Is(err, kerr.FencedLeaderEpoch)
}
