package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// An Envelope carries a client's request from a broker to the active controller, and its response back
// (KIP-590): whole requests and responses with their headers, without sizes, and who the client is.

// ErrEnvelopedVersion is wrapped by the error of a request in an Envelope whose version controllers don't serve.
var ErrEnvelopedVersion = errors.New("unsupported version")

// errEnveloped is wrapped by errors of what an Envelope holds.
var errEnveloped = errors.New("malformed request in an envelope")

// AppendEnveloped appends a request as an Envelope holds it.
func AppendEnveloped(dst []byte, h Header, req kmsg.Request) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(req.Key()))
	dst = binary.BigEndian.AppendUint16(dst, uint16(req.GetVersion()))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.CorrelationID))
	dst = kbin.AppendNullableString(dst, h.ClientID)
	if IsFlexible(req.Key(), req.GetVersion()) {
		dst = append(dst, 0)
	}
	return req.AppendTo(dst)
}

// ReadEnveloped decodes what AppendEnveloped wrote, with the checks of a request that comes by itself. The
// request borrows b. A request of an API or version that controllers don't serve is an error.
func ReadEnveloped(b []byte) (Header, kmsg.Request, error) {
	h, body, err := decodeHeader(b, nil)
	if err != nil {
		return h, nil, fmt.Errorf("%w: %w", errEnveloped, err)
	}
	if !ServedBy(RoleController, h.Key, h.Version) {
		return h, nil, fmt.Errorf("%w: %s: %w %d", errEnveloped, APIName(h.Key), ErrEnvelopedVersion, h.Version)
	}
	req, err := decodeBody(h.Key, h.Version, body)
	if err != nil {
		return h, nil, fmt.Errorf("%w: %w", errEnveloped, err)
	}
	return h, req, nil
}

// AppendEnvelopedResponse appends a response, at the request's version, as an Envelope's response holds it.
func AppendEnvelopedResponse(dst []byte, h Header, resp kmsg.Response) []byte {
	resp.SetVersion(h.Version)
	return resp.AppendTo(appendResponseHeader(dst, h.Key, h.Version, h.CorrelationID))
}

// ReadEnvelopedResponse decodes the response to req out of what AppendEnvelopedResponse wrote; it borrows b.
func ReadEnvelopedResponse(b []byte, req kmsg.Request) (kmsg.Response, error) {
	if len(b) < 4 {
		return nil, fmt.Errorf("%w: its response is cut short", errEnveloped)
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	return resp, decodeResponse(&call{key: req.Key(), version: req.GetVersion(), response: resp}, b[4:])
}

// Principal is who a client is, as Kafka's default principal builder has it.
type Principal struct {
	// Type is nearly always User.
	Type, Name string
	// TokenAuthenticated tells that a delegation token was used.
	TokenAuthenticated bool
}

// AppendPrincipal appends a principal as an Envelope holds it: version int16, and DefaultPrincipalData.
func AppendPrincipal(dst []byte, p Principal) []byte {
	dst = kbin.AppendInt16(dst, 0)
	dst = kbin.AppendCompactString(dst, p.Type)
	dst = kbin.AppendCompactString(dst, p.Name)
	dst = kbin.AppendBool(dst, p.TokenAuthenticated)
	return append(dst, 0)
}

// ReadPrincipal reads what AppendPrincipal wrote.
func ReadPrincipal(b []byte) (p Principal, err error) {
	r := kbin.Reader{Src: b}
	if v := r.Int16(); v != 0 {
		return p, fmt.Errorf("%w: principal of version %d", errEnveloped, v)
	}
	p.Type, p.Name, p.TokenAuthenticated = r.CompactString(), r.CompactString(), r.Bool()
	if err := r.Complete(); err != nil {
		return p, fmt.Errorf("%w: principal: %w", errEnveloped, err)
	}
	rest, err := skipTags(r.Src)
	if err != nil || len(rest) > 0 {
		return p, fmt.Errorf("%w: principal has %d bytes too many", errEnveloped, len(rest))
	}
	return p, nil
}
