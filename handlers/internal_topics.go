package handlers

import "github.com/ottla/ottla/internal/config"

// isInternalTopic says whether a topic is one that only the broker writes.
func isInternalTopic(name string) bool {
	return name == config.OffsetsTopic || name == "__transaction_state" || name == "__share_group_state"
}
