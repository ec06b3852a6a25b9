// Package kerror carries Kafka error codes through the program.
//
// Every error that may reach a client is an *Error, or wraps one; anything else
// is answered as UNKNOWN_SERVER_ERROR. The Message is safe to send to a client,
// the Cause is for the log only.
package kerror

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Error is a Kafka error with a client-safe message and an internal cause.
type Error struct {
	// Kerr is the protocol error; never nil.
	Kerr *kerr.Error
	// Message is sent to clients where the protocol has a field for it; empty means
	// that none is sent.
	Message string
	// Cause is logged and never sent.
	Cause error
}

// New returns an error with the given code and a formatted client-safe message.
func New(code *kerr.Error, format string, args ...any) *Error {
	return &Error{Kerr: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an error with the given code whose cause is logged and not sent.
func Wrap(code *kerr.Error, cause error) *Error {
	return &Error{Kerr: code, Cause: cause}
}

// Error implements error.
func (e *Error) Error() string {
	s := e.Kerr.Message
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap exposes both the protocol error and the cause, so that errors.Is works with
// kerr sentinels (errors.Is(err, kerr.NotLeaderForPartition)) and with the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kerr}
	}
	return []error{e.Kerr, e.Cause}
}

// CodeOf returns the Kafka code to answer for err: 0 for nil, UNKNOWN_SERVER_ERROR for an
// error that carries none.
func CodeOf(err error) int16 {
	if err == nil {
		return 0
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kerr.Code
	}
	var k *kerr.Error
	if errors.As(err, &k) {
		return k.Code
	}
	return kerr.UnknownServerError.Code
}

// MessageOf returns the client-safe message of err, or nil if there is none.
func MessageOf(err error) *string {
	var e *Error
	if errors.As(err, &e) && e.Message != "" {
		m := e.Message
		return &m
	}
	return nil
}
