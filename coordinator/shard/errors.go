package shard

import (
	"errors"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
)

// CoordinatorError turns an error of the log into what a client of a coordinator is told, as
// Kafka's CoordinatorOperationExceptionHelper does: errors of the internal topic's partition would
// be taken for errors of the client's own topics. The cause stays for the log.
func CoordinatorError(err error) error {
	for _, m := range []struct {
		from []*kerr.Error
		to   *kerr.Error
	}{
		{[]*kerr.Error{kerr.UnknownTopicOrPartition, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut}, kerr.CoordinatorNotAvailable},
		{[]*kerr.Error{kerr.NotLeaderForPartition, kerr.KafkaStorageError, kerr.FencedLeaderEpoch}, kerr.NotCoordinator},
		{[]*kerr.Error{kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidFetchSize}, kerr.UnknownServerError},
	} {
		for _, from := range m.from {
			if errors.Is(err, from) {
				return kerror.Wrap(m.to, err)
			}
		}
	}
	return err
}

// isLost tells whether an append failed because this broker leads the partition no more.
func isLost(err error) bool {
	return errors.Is(err, kerr.NotLeaderForPartition) || errors.Is(err, kerr.FencedLeaderEpoch) || errors.Is(err, kerr.KafkaStorageError)
}

func errLoading() error { return kerror.Wrap(kerr.CoordinatorLoadInProgress, nil) }

func errNotCoordinator(cause error) error { return kerror.Wrap(kerr.NotCoordinator, cause) }

func errBusy() error {
	return kerror.Wrap(kerr.CoordinatorNotAvailable, errors.New("mailbox of the coordinator's shard is full"))
}
