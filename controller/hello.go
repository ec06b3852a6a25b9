package controller

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
)

// Nodes talk to each other over the port of the CONTROLLER listener, beside Kafka's requests. Such a
// connection opens with
//
//	magic     4 bytes, "OTLA": as the size of a Kafka request it would be too large
//	kind      1 byte
//	hello     length (uint32) and JSON
//
// and is answered with a welcome, framed as the hello. What follows depends on the kind; of a probe nothing does.
const (
	streamMagic = "OTLA"
	// streamRaft carries raft's messages, streamObserve committed records (observe_frame.go).
	streamRaft    = 'r'
	streamObserve = 'o'
	streamProbe   = 'p'

	// streamVersion is the version of all of it.
	streamVersion = 1
	// maxHello bounds a hello and a welcome, in bytes.
	maxHello = 64 << 10
)

// hello is what the side that dials says of itself.
type hello struct {
	Version   int    `json:"version"`
	ClusterID string `json:"clusterId,omitempty"`
	// Server is the sender's identity, To that of whom it means to reach (raft only).
	Server string `json:"server"`
	To     string `json:"to,omitempty"`
	// Offset is the last metadata offset that an observer has.
	Offset int64 `json:"offset"`
}

// welcome is what the other side says.
type welcome struct {
	Version   int    `json:"version"`
	ClusterID string `json:"clusterId,omitempty"`
	Server    string `json:"server"`
	// Refused says why the stream ends here; empty if it goes on.
	Refused refusal `json:"refused,omitempty"`
	// Fresh tells that the node has nothing of any metadata quorum on its disk.
	Fresh bool `json:"fresh,omitempty"`
	// Active tells that the node is the active controller; Offset is then that of its image.
	Active bool  `json:"active,omitempty"`
	Offset int64 `json:"offset"`
	// LeaderID and LeaderAddress are the active controller as far as the node knows; -1 if it doesn't.
	LeaderID      int32  `json:"leaderId"`
	LeaderAddress string `json:"leaderAddress,omitempty"`
}

// refusal is why a stream was refused.
type refusal string

const (
	refusedVersion refusal = "protocol version"
	// refusedCluster: the two nodes belong to different clusters.
	refusedCluster refusal = "cluster id"
	// refusedIdentity: this isn't the replica that was meant; its disk is another.
	refusedIdentity refusal = "identity"
	// refusedNotActive: only the active controller serves observers.
	refusedNotActive refusal = "not the active controller"
	// refusedStarting: the node doesn't know yet what it has.
	refusedStarting refusal = "starting"
	refusedClosing  refusal = "closing"
)

// refusedError is the error of a stream that was refused.
type refusedError struct {
	address string
	welcome welcome
}

// Error implements error.
func (e *refusedError) Error() string {
	return fmt.Sprintf("controller %s at %s refused the connection: %s", e.welcome.Server, e.address, e.welcome.Refused)
}

// IsStream tells whether a connection's first bytes (at least 4) are those of such a connection.
func IsStream(first []byte) bool {
	return len(first) >= len(streamMagic) && string(first[:len(streamMagic)]) == streamMagic
}

func writeHello(w io.Writer, kind byte, h hello) error {
	h.Version = streamVersion
	return writeJSON(w, append([]byte(streamMagic), kind), h)
}

func readHello(r io.Reader) (kind byte, h hello, err error) {
	var head [len(streamMagic) + 1]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, h, err
	}
	if !IsStream(head[:]) {
		return 0, h, fmt.Errorf("unexpected first bytes %x", head)
	}
	return head[len(streamMagic)], h, readJSON(r, &h)
}

func writeJSON(w io.Writer, prefix []byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	out := binary.BigEndian.AppendUint32(prefix, uint32(len(b)))
	_, err = w.Write(append(out, b...))
	return err
}

func readJSON(r io.Reader, v any) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxHello {
		return fmt.Errorf("greeting of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// closeQuietly closes a connection about which nothing more can be done.
func closeQuietly(c net.Conn) { _ = c.Close() }
