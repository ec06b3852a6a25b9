package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// load is what a client process of BenchmarkServe does: connections, each with depth requests on the
// way at a time.
type load struct {
	connections, depth, requests int
	produce                      bool
}

func (l load) frame() []byte {
	if l.produce {
		return produce(1, -1, pattern(2<<10))
	}
	return metadata(1, "topic")
}

// BenchmarkServe measures what a request costs the server alone: the clients are another process.
// cpu-µs/op is the server's CPU time, user and system, of one request.
func BenchmarkServe(b *testing.B) {
	for _, transport := range []Transport{TransportLoop, TransportStd} {
		for _, l := range []load{{1, 1, 0, false}, {1, 5, 0, false}, {50, 1, 0, false}, {50, 5, 0, false}, {1, 1, 0, true}, {1, 5, 0, true}, {50, 1, 0, true}, {50, 5, 0, true}} {
			kind := "metadata"
			if l.produce {
				kind = "produce2k"
			}
			name := map[Transport]string{TransportLoop: "loop", TransportStd: "std"}[transport]
			b.Run(fmt.Sprintf("%s/%s/connections=%d/depth=%d", name, kind, l.connections, l.depth), func(b *testing.B) {
				s := serve(b, transport, func(r *Request) { r.Reply(r.Body.ResponseKind()) })
				l.requests = max(b.N, l.connections*l.depth)
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), fmt.Sprintf("%s=load %s %d %d %d %t", childEnv, s.addr, l.connections, l.depth, l.requests, l.produce))
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				b.ResetTimer()
				before := cpuMicros(b)
				if err := cmd.Run(); err != nil {
					b.Fatalf("%v\n%s", err, &out)
				}
				b.StopTimer()
				b.ReportMetric(float64(cpuMicros(b)-before)/float64(l.requests), "cpu-µs/op")
			})
		}
	}
}

// loadChild is the client process.
func loadChild(args string) int {
	var addr string
	var l load
	if _, err := fmt.Sscan(args, &addr, &l.connections, &l.depth, &l.requests, &l.produce); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	errs := make(chan error, l.connections)
	var wg sync.WaitGroup
	for i := range l.connections {
		n := l.requests / l.connections
		if i < l.requests%l.connections {
			n++
		}
		wg.Go(func() {
			if err := l.run(addr, n); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		fmt.Fprintln(os.Stderr, err)
		return 1
	default:
		return 0
	}
}

// run sends n requests over one connection.
func (l load) run(addr string, n int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	frame := l.frame()
	ahead := make(chan struct{}, l.depth)
	failed := make(chan error, 1)
	if l.depth == 1 {
		reply := make([]byte, 64<<10)
		for range n {
			if err := exchange(c, frame, reply); err != nil {
				return err
			}
		}
		return nil
	}
	go func() {
		for range n {
			ahead <- struct{}{}
			if _, err := c.Write(frame); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	reply := make([]byte, 64<<10)
	for range n {
		if err := receiveInto(c, reply); err != nil {
			return err
		}
		<-ahead
	}
	return <-failed
}

func exchange(c net.Conn, frame, reply []byte) error {
	if _, err := c.Write(frame); err != nil {
		return err
	}
	return receiveInto(c, reply)
}

func receiveInto(c net.Conn, reply []byte) error {
	have := 0
	for have < 4 {
		n, err := c.Read(reply[have:4])
		if err != nil {
			return err
		}
		have += n
	}
	_, err := io.ReadFull(c, reply[:binary.BigEndian.Uint32(reply)])
	return err
}

// isLoad says whether a child is to be a client of BenchmarkServe.
func isLoad(mode string) (args string, ok bool) { return strings.CutPrefix(mode, "load ") }
