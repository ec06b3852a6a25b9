package wire

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/ottla/ottla/internal/buf"
)

// TestConn plays scripts against a conn, without I/O. Commands:
//
//	new [max-bytes=N] [queued=N] [pending=N] [budget=N]   a new connection
//	feed [step=N]                                          lines: "frame ID [SIZE]", "hex …", "text …"
//	grant                                                  give the memory that is waited for
//	start | proceed ID | done ID | close ID | blocked BOOL | end
//
// After each command the requests that may leave are emitted, and the state is printed.
func TestConn(t *testing.T) {
	datadriven.Walk(t, "testdata/conn", func(t *testing.T, path string) {
		var pool buf.Pool
		var c conn
		budget := int64(0)
		byID := map[int]*slot{}
		idOf := func(s *slot) int32 { return int32(binary.BigEndian.Uint32(s.frame.Bytes()[4:])) }
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			arg := func(name string, otherwise int) int {
				if d.HasArg(name) {
					d.ScanArgs(t, name, &otherwise)
				}
				return otherwise
			}
			target := func() *slot {
				id, err := strconv.Atoi(d.CmdArgs[0].Key)
				if err != nil || byID[id] == nil {
					d.Fatalf(t, "unknown request %s", d.CmdArgs[0].Key)
				}
				return byID[id]
			}
			var out strings.Builder
			switch d.Cmd {
			case "new":
				pool = buf.Pool{}
				budget = int64(arg("budget", 1<<30))
				c = newConn(connLimits{maxRequestBytes: arg("max-bytes", 1000), queued: arg("queued", 4), pending: arg("pending", 3)},
					&pool, &slotPool{}, func(n int64) bool {
						if n > budget {
							return false
						}
						budget -= n
						return true
					})
				byID = map[int]*slot{}
			case "feed":
				var input []byte
				for line := range strings.Lines(d.Input) {
					word := strings.Fields(line)
					switch word[0] {
					case "frame":
						id, _ := strconv.Atoi(word[1])
						size := 20
						if len(word) > 2 {
							size, _ = strconv.Atoi(word[2])
						}
						f := make([]byte, 4+size)
						binary.BigEndian.PutUint32(f, uint32(size))
						binary.BigEndian.PutUint32(f[8:], uint32(id))
						input = append(input, f...)
					case "hex":
						b, err := hex.DecodeString(strings.Join(word[1:], ""))
						if err != nil {
							d.Fatalf(t, "%v", err)
						}
						input = append(input, b...)
					case "text":
						input = append(input, strings.Join(word[1:], " ")...)
					case "cut":
						n, _ := strconv.Atoi(word[1])
						input = input[:len(input)-n]
					}
				}
				step := arg("step", max(1, len(input)))
				if len(input) == 0 {
					c.Feed(nil, time.Time{})
				}
				for len(input) > 0 {
					n := min(step, len(input))
					c.Feed(input[:n], time.Time{})
					input = input[n:]
				}
			case "grant":
				c.Granted()
			case "start":
				s := c.Start()
				if s == nil {
					out.WriteString("nothing may start\n")
					break
				}
				byID[int(idOf(s))] = s
				fmt.Fprintf(&out, "started %d (%d bytes)\n", idOf(s), len(s.frame.Bytes()))
			case "proceed":
				target().state = slotProceeded
			case "done":
				target().state = slotDone
			case "close":
				s := target()
				s.state, s.reply.closeReason = slotDone, closeBecause(closeHandler, "asked to")
				c.Stop()
			case "blocked":
				c.blocked = d.CmdArgs[0].Key == "true"
			case "end":
				c.End()
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			for {
				s, dropped := c.Emit()
				if s == nil {
					break
				}
				fmt.Fprintf(&out, "emitted %d\n", idOf(s))
				s.frame.Release()
				for _, s := range dropped {
					fmt.Fprintf(&out, "dropped %d\n", idOf(s))
					s.frame.Release()
				}
			}
			fmt.Fprintf(&out, "started=%d queued=%d carry=%d", c.order.started, c.order.queued(), len(c.carry))
			for _, f := range []struct {
				name string
				is   bool
			}{{"reading", c.Reading()}, {"waiting", c.waiting}, {"can-feed", c.CanFeed()}, {"can-start", c.CanStart()}, {"finished", c.Finished()}} {
				if f.is {
					out.WriteString(" " + f.name)
				}
			}
			if c.failure != nil {
				fmt.Fprintf(&out, "\nfailure: %s", c.failure)
			}
			return out.String() + "\n"
		})
	})
}
