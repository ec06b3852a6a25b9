package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ioTimeout bounds a single request; a broker that is slower has failed.
const ioTimeout = 60 * time.Second

// maxAnswer bounds what an answer's size may make us allocate, in bytes.
const maxAnswer = 128 << 20

// conn is one connection. It belongs to one goroutine.
type conn struct {
	net.Conn
	in []byte // holds the last answer without its size
}

func dial(address string) (*conn, error) {
	c, err := connect(address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// appendFrame appends a request with its size and header.
func appendFrame(dst []byte, req kmsg.Request) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("ottla-bench")).AppendRequest(dst, req, 0)
}

// setCorrelation patches the correlation id of a frame: it stands behind size, key and version.
func setCorrelation(frame []byte, id uint32) { binary.BigEndian.PutUint32(frame[8:], id) }

// send writes a frame.
func (c *conn) send(frame []byte) error {
	if err := c.SetDeadline(time.Now().Add(ioTimeout)); err != nil {
		return err
	}
	_, err := c.Write(frame)
	return err
}

// receive reads the next answer; it is valid until the next call. It begins with the correlation
// id, which must be want.
func (c *conn) receive(want uint32) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c.Conn, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 4 || n > maxAnswer {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	if int(n) > cap(c.in) {
		c.in = make([]byte, n)
	}
	c.in = c.in[:n]
	if _, err := io.ReadFull(c.Conn, c.in); err != nil {
		return nil, err
	}
	if got := binary.BigEndian.Uint32(c.in); got != want {
		return nil, fmt.Errorf("answer %d where %d was due", got, want)
	}
	return c.in, nil
}

// ask sends a request and decodes its answer; for what isn't measured.
func (c *conn) ask(req kmsg.Request) (kmsg.Response, error) {
	if err := c.send(appendFrame(nil, req)); err != nil {
		return nil, err
	}
	b, err := c.receive(0)
	if err != nil {
		return nil, err
	}
	b = b[4:]
	if req.IsFlexible() && req.Key() != int16(kmsg.ApiVersions) {
		if len(b) == 0 || b[0] != 0 {
			return nil, errors.New("unexpected tags in a response header")
		}
		b = b[1:]
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	return resp, resp.ReadFrom(b)
}
