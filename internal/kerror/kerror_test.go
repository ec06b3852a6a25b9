package kerror

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestCodeOf maps every shape of error that reaches a handler to the code a client sees.
func TestCodeOf(t *testing.T) {
	wrapped := Wrap(kerr.KafkaStorageError, io.ErrUnexpectedEOF)
	for _, tc := range []struct {
		name string
		err  error
		want int16
	}{
		{"nil", nil, 0},
		{"kerr sentinel", kerr.InvalidTopicException, 17},
		{"own error", New(kerr.InvalidPartitions, "n=%d", 0), 37},
		{"own error, wrapped", fmt.Errorf("create: %w", New(kerr.InvalidPartitions, "n")), 37},
		{"cause is kept apart from the code", wrapped, 56},
		{"foreign error", io.EOF, -1},
	} {
		if got := CodeOf(tc.err); got != tc.want {
			t.Errorf("%s: CodeOf = %d, want %d", tc.name, got, tc.want)
		}
	}
	if !errors.Is(wrapped, io.ErrUnexpectedEOF) || !errors.Is(wrapped, kerr.KafkaStorageError) {
		t.Error("Wrap hides its cause or its code from errors.Is")
	}
}

// TestMessageOf shows that a cause never reaches the client.
func TestMessageOf(t *testing.T) {
	if m := MessageOf(Wrap(kerr.KafkaStorageError, errors.New("/secret/path"))); m != nil {
		t.Errorf("MessageOf leaks the cause: %q", *m)
	}
	if m := MessageOf(New(kerr.InvalidConfig, "bad %s", "x")); m == nil || *m != "bad x" {
		t.Errorf("MessageOf = %v, want %q", m, "bad x")
	}
}
