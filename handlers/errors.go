package handlers

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
)

// codeOf is the code to answer for err. What carries none is a bug or a broken promise: it is
// logged, with what was being done, and answered as UNKNOWN_SERVER_ERROR.
func (d *Deps) codeOf(err error, doing string, args ...any) int16 {
	code := kerror.CodeOf(err)
	if code == kerr.UnknownServerError.Code {
		d.Logger.Error("unexpected error", append([]any{"doing", doing, "error", err}, args...)...)
	}
	return code
}

// isInternalTopic says whether a topic is one that only the broker writes.
func isInternalTopic(name string) bool {
	return name == "__consumer_offsets" || name == "__transaction_state" || name == "__share_group_state"
}

// wantsLeaderHint says whether an error tells the client to look for the leader elsewhere.
func wantsLeaderHint(err error) bool {
	return errors.Is(err, kerr.NotLeaderForPartition) || errors.Is(err, kerr.FencedLeaderEpoch)
}
