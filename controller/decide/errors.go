package decide

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
)

// codeAndMessage is what the fields of a response say of an error; a message is sent only where the
// error was made with one.
func codeAndMessage(err error) (code int16, message *string) {
	return kerror.CodeOf(err), kerror.MessageOf(err)
}

// Texts that Kafka sends for errors without a message of their own.
const (
	textUnknownTopic   = "This server does not host this topic-partition."
	textUnknownTopicID = "This server does not host this topic ID."
)

var errDuplicateTopic = kerror.New(kerr.InvalidRequest, "Duplicate topic name.")
