package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// minFrame is the size of the smallest request: key, version and correlation id.
const minFrame = 8

// Request headers, all integers big-endian:
//
//	key int16 | version int16 | correlation id int32 | client id string (length int16, negative is null) | tags, version 2 only
//
// Version 2 goes with flexible requests. The client id has a two-byte length even there.
//
// Response headers: correlation id int32 | tags, version 1 only. Version 1 goes with flexible
// responses, but for ApiVersions, whose response always has version 0: a client reads it before it
// knows what the broker speaks (KIP-511).

var errHeaderShort = errors.New("the request header is cut short")

// decodeHeader splits a frame into its header and the body, which borrows the frame. An error still
// returns what was read of the header. The version isn't checked. A client id that is the same as lastID is
// returned as that pointer: clients send theirs with every request.
func decodeHeader(frame []byte, lastID *string) (h Header, body []byte, err error) {
	if len(frame) < minFrame {
		return h, nil, errHeaderShort
	}
	h.Key = int16(binary.BigEndian.Uint16(frame))
	h.Version = int16(binary.BigEndian.Uint16(frame[2:]))
	h.CorrelationID = int32(binary.BigEndian.Uint32(frame[4:]))
	if rowOf(h.Key) == nil {
		return h, nil, fmt.Errorf("api key %d is unknown", h.Key)
	}
	body = frame[minFrame:]
	if len(body) < 2 {
		return h, nil, errHeaderShort
	}
	n := int(int16(binary.BigEndian.Uint16(body)))
	body = body[2:]
	if n >= 0 {
		if n > len(body) {
			return h, nil, errHeaderShort
		}
		h.ClientID = lastID
		if lastID == nil || *lastID != string(body[:n]) {
			id := string(body[:n])
			h.ClientID = &id
		}
		body = body[n:]
	}
	if IsFlexible(h.Key, h.Version) {
		if body, err = skipTags(body); err != nil {
			return h, nil, err
		}
	}
	return h, body, nil
}

// skipTags returns what follows the tagged fields at the start of src.
func skipTags(src []byte) ([]byte, error) {
	w := shapeWalk{src: src, flexible: true}
	if err := w.walkTags(nil); err != nil {
		return nil, fmt.Errorf("tags of the request header: %w", err)
	}
	return w.src, nil
}

// appendResponseHeader appends the header of a response to a request of the given key and version.
func appendResponseHeader(dst []byte, key, version int16, correlationID int32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if key != keyApiVersions && IsFlexible(key, version) {
		dst = append(dst, 0)
	}
	return dst
}

// appendReply appends a whole response frame to dst, which must be empty.
func appendReply(dst []byte, h Header, body kmsg.Response) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = appendResponseHeader(dst, h.Key, h.Version, h.CorrelationID)
	dst = body.AppendTo(dst)
	binary.BigEndian.PutUint32(dst, uint32(len(dst)-4))
	return dst
}

// appendUnsupportedApiVersions appends the answer to an ApiVersions request of a version that isn't
// known: a version 0 body with UNSUPPORTED_VERSION and the range of ApiVersions itself, so that the
// client can ask again on the same connection (KIP-511; bytes as Kafka 4.4.0 sends them).
func appendUnsupportedApiVersions(dst []byte, correlationID int32) []byte {
	const unsupportedVersion = 35
	r := rowOf(keyApiVersions)
	dst = binary.BigEndian.AppendUint32(dst, 4+2+4+3*2)
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	dst = binary.BigEndian.AppendUint16(dst, unsupportedVersion)
	dst = binary.BigEndian.AppendUint32(dst, 1)
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.key))
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.min))
	return binary.BigEndian.AppendUint16(dst, uint16(r.max))
}
