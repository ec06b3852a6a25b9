package wire

import (
	"bytes"
	"errors"
	"fmt"
)

// closeKind groups the reasons for closing a connection; log lines are limited per kind.
type closeKind uint8

const (
	closeFrame closeKind = iota
	closeTLS
	closeHTTP
	closeHeader
	closeUnsupported
	closeDecode
	closeHandler
	closeHandshake
	closeRejected
	closeAccept
	closeSend
	closeStalled
	numCloseKinds
)

var closeKindNames = [numCloseKinds]string{
	"frame", "tls-on-plaintext", "http", "header", "unsupported", "decode", "request", "handshake", "rejected", "accept", "send", "stalled",
}

// closeError is why a connection is closed.
type closeError struct {
	kind closeKind
	text string
}

func (e *closeError) Error() string { return e.text }

func closeBecause(kind closeKind, format string, args ...any) error {
	return &closeError{kind: kind, text: fmt.Sprintf(format, args...)}
}

// kindOf is the kind of a reason; those of handlers have their own.
func kindOf(reason error) closeKind {
	var e *closeError
	if errors.As(reason, &e) {
		return e.kind
	}
	return closeHandler
}

// sniff explains a wrong frame size by the other protocols that clients are seen to speak to a
// Kafka port. head is the start of the frame and next the bytes that were being read.
func sniff(head, next []byte, otherwise error) error {
	first := head
	if len(next) > len(first) {
		first = next
	}
	if len(first) >= 2 && first[0] == 0x16 && first[1] == 0x03 {
		return closeBecause(closeTLS, "the client began a TLS handshake on a plaintext listener: "+
			"set its security.protocol to the listener's, or connect to an SSL listener")
	}
	for _, verb := range [...]string{"GET ", "POST", "PUT ", "HEAD", "DELE", "OPTI", "PATC", "CONN", "HTTP", "PRI "} {
		if bytes.HasPrefix(first, []byte(verb)) {
			return closeBecause(closeHTTP, "the client speaks HTTP: this port speaks the Kafka protocol")
		}
	}
	return otherwise
}
