package dump

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ottla/ottla/log/batch"
)

// Decoder renders a key or a value.
type Decoder func(b []byte) (string, error)

// Contents are the key and value of a record, rendered. What is null isn't printed.
type Contents struct {
	Key, Value       string
	HasKey, HasValue bool
}

// RecordDecoder renders a record of a topic of the broker's own.
type RecordDecoder func(rec *batch.Record) (Contents, error)

// Decoders are those that a command line may name, the stock tool's classes included.
var Decoders = map[string]Decoder{
	"text": Text, "hex": Hex, "integer": Integer, "long": Long,
	"org.apache.kafka.tools.api.StringDecoder":  Text,
	"org.apache.kafka.tools.api.DefaultDecoder": Hex, // Java prints where in memory the bytes are.
	"org.apache.kafka.tools.api.IntegerDecoder": Integer,
	"org.apache.kafka.tools.api.LongDecoder":    Long,
}

// Text renders UTF-8.
func Text(b []byte) (string, error) { return javaText(b), nil }

// Hex renders any bytes.
func Hex(b []byte) (string, error) { return hex.EncodeToString(b), nil }

// Integer renders four bytes as a number.
func Integer(b []byte) (string, error) {
	if len(b) != 4 {
		return "", fmt.Errorf("%d bytes are no integer", len(b))
	}
	return strconv.Itoa(int(int32(binary.BigEndian.Uint32(b)))), nil
}

// Long renders eight bytes as a number.
func Long(b []byte) (string, error) {
	if len(b) != 8 {
		return "", fmt.Errorf("%d bytes are no long", len(b))
	}
	return strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10), nil
}

func (d *dumper) decode(rec *batch.Record) (c Contents, err error) {
	if d.opts.Records != nil {
		return d.opts.Records(rec)
	}
	if c.HasKey = rec.Key != nil; c.HasKey {
		if c.Key, err = d.opts.Key(rec.Key); err != nil {
			return c, fmt.Errorf("key: %w", err)
		}
	}
	if c.HasValue = rec.Value != nil; c.HasValue {
		if c.Value, err = d.opts.Value(rec.Value); err != nil {
			return c, fmt.Errorf("value: %w", err)
		}
	}
	return c, nil
}

// javaText decodes UTF-8 as Java does: what isn't UTF-8 becomes U+FFFD, one for each sequence that
// began well, where Go counts bytes.
func javaText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			size = wellBegun(b)
		}
		out.WriteRune(r)
		b = b[size:]
	}
	return out.String()
}

// wellBegun is how many bytes of b, which doesn't start with a rune, might have been the beginning of
// one; at least 1.
func wellBegun(b []byte) int {
	n := 1
	for n < len(b) && n < utf8.UTFMax && !utf8.FullRune(b[:n]) {
		n++
	}
	// b[:n] is full, which is to say wrong, unless b ended first; its last byte spoilt it.
	if n > 1 && utf8.FullRune(b[:n]) {
		n--
	}
	return n
}
