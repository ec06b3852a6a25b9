package diff

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxFrameBytes bounds what is read as one answer.
const maxFrameBytes = 64 << 20

// answerTimeout is how long an answer may take. The longest wait that a case asks a broker for is
// far below it.
const answerTimeout = 20 * time.Second

// errClosed is returned when the broker closed the connection.
var errClosed = errors.New("connection closed")

// Conn is one connection at the level of frames. It isn't safe for concurrent use.
type Conn struct {
	nc            net.Conn
	clientID      string
	correlationID int32
}

// Dial connects to a broker.
func Dial(address, clientID string) (*Conn, error) {
	nc, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &Conn{nc: nc, clientID: clientID}, nil
}

// Close drops the connection.
func (c *Conn) Close() { _ = c.nc.Close() }

// Write sends bytes as they are.
func (c *Conn) Write(b []byte) error {
	if err := c.nc.SetWriteDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	_, err := c.nc.Write(b)
	return asClosed(err)
}

// Send writes a request at its set version and returns its correlation id.
func (c *Conn) Send(req kmsg.Request) (int32, error) {
	c.correlationID++
	frame := AppendHeader(nil, req.Key(), req.GetVersion(), c.correlationID, &c.clientID, req.IsFlexible())
	return c.correlationID, c.Write(Frame(req.AppendTo(frame)))
}

// ReadFrame reads one answer without its size. It returns errClosed if the broker closed the
// connection first.
func (c *Conn) ReadFrame(timeout time.Duration) ([]byte, error) {
	if err := c.nc.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(c.nc, size[:]); err != nil {
		return nil, asClosed(err)
	}
	n := int32(binary.BigEndian.Uint32(size[:]))
	if n < 0 || n > maxFrameBytes {
		return nil, fmt.Errorf("answer of %d bytes", n)
	}
	frame := make([]byte, n)
	if _, err := io.ReadFull(c.nc, frame); err != nil {
		return nil, asClosed(err)
	}
	return frame, nil
}

// Frame puts a size before a header and body.
func Frame(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// AppendHeader appends a request header: version 2 if flexible, else version 1.
func AppendHeader(dst []byte, key, version int16, correlationID int32, clientID *string, flexible bool) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(key))
	dst = binary.BigEndian.AppendUint16(dst, uint16(version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if clientID == nil {
		dst = binary.BigEndian.AppendUint16(dst, 0xffff)
	} else {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(*clientID)))
		dst = append(dst, *clientID...)
	}
	if flexible {
		dst = append(dst, 0)
	}
	return dst
}

// Body takes the response header off an answer and says what is wrong with it, if anything.
func Body(frame []byte, req kmsg.Request, correlationID int32) ([]byte, error) {
	if len(frame) < 4 {
		return nil, fmt.Errorf("answer of %d bytes has no header", len(frame))
	}
	if got := int32(binary.BigEndian.Uint32(frame)); got != correlationID {
		return nil, fmt.Errorf("correlation id %d, want %d", got, correlationID)
	}
	frame = frame[4:]
	if req.IsFlexible() && req.Key() != int16(kmsg.ApiVersions) {
		if len(frame) < 1 || frame[0] != 0 {
			return nil, errors.New("response header without its empty tag section")
		}
		frame = frame[1:]
	}
	return frame, nil
}

// asClosed turns the ways in which a closed connection shows into errClosed.
func asClosed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return errClosed
	}
	return err
}
