package load

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	start := time.Unix(100, 0)
	for _, perSecond := range []int64{1, 3, 100, 5000, 7777} {
		p := pace{start, perSecond}
		if got := p.due(perSecond * 3600); !got.Equal(start.Add(time.Hour)) {
			t.Errorf("%d a second: an hour's records end at %v", perSecond, got)
		}
		if p.dueBy(start.Add(-1)) != 0 {
			t.Error("something is due before the start")
		}
		for i := range int64(10_000) {
			at := p.due(i)
			if got := p.dueBy(at); got != i+1 {
				t.Fatalf("%d a second: %d due at the due time of %d", perSecond, got, i)
			}
			if got := p.dueBy(at.Add(-1)); got != i {
				t.Fatalf("%d a second: %d due right before the due time of %d", perSecond, got, i)
			}
		}
	}
}

func TestTake(t *testing.T) {
	p := pace{time.Unix(0, 0), 1000}
	at := func(ms int) time.Time { return p.start.Add(time.Duration(ms) * time.Millisecond) }
	for _, c := range []struct {
		next, total, most int64
		now               time.Time
		want              int64
	}{
		{0, 100, 10, at(0), 1},   // just due
		{5, 100, 10, at(8), 4},   // 5 to 8
		{5, 100, 10, at(50), 10}, // no more than most
		{95, 100, 10, at(500), 5},
		{7, 100, 10, at(3), 1}, // woken early: it goes all the same
	} {
		if got := p.take(c.next, c.total, c.most, c.now); got != c.want {
			t.Errorf("take(%d, %d, %d, %v): got %d, want %d", c.next, c.total, c.most, c.now, got, c.want)
		}
	}
}

// echo answers each frame with its correlation id.
func echo(server net.Conn) {
	for {
		var head [12]byte
		if _, err := io.ReadFull(server, head[:]); err != nil {
			return
		}
		if _, err := server.Write(append([]byte{0, 0, 0, 4}, head[8:]...)); err != nil {
			return
		}
	}
}

// emptyFrame is a request without a body.
func emptyFrame(flight) []byte {
	return append(binary.BigEndian.AppendUint32(nil, 8), make([]byte, 8)...)
}

func TestPaced(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	// The whole series is due long since, so that each request must be as large as may be.
	go func() {
		s, err := listener.Accept()
		if err != nil {
			return
		}
		defer s.Close()
		echo(s)
	}()
	c, err := dial(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got []flight
	n, err := paced(c, pace{time.Now().Add(-time.Minute), 1000}, 100, 30, time.Now().Add(time.Minute), 2,
		emptyFrame,
		func(_ []byte, f flight) error { got = append(got, f); return nil })
	want := []flight{{0, 30}, {30, 30}, {60, 30}, {90, 10}}
	if err != nil || n != int64(len(want)) || len(got) != len(want) {
		t.Fatalf("got %v, %d requests, %v", got, n, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("request %d has %v, want %v", i, got[i], want[i])
		}
	}
}

func TestPacedEndsOnError(t *testing.T) {
	client, server := net.Pipe()
	go echo(server)
	bad := errors.New("bad")
	n, err := paced(&conn{Conn: client}, pace{time.Now(), 100_000}, 1000, 1, time.Now().Add(time.Minute), 2,
		emptyFrame,
		func(_ []byte, f flight) error {
			if f.first == 3 {
				return bad
			}
			return nil
		})
	if n != 3 || !errors.Is(err, bad) { // Not what the sender meets on the closed connection.
		t.Fatalf("got %d requests, %v", n, err)
	}
	server.Close()
}

// TestPacedStops: what isn't sent in time is left out, and what was sent is answered.
func TestPacedStops(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	go echo(server)
	answers := 0
	n, err := paced(&conn{Conn: client}, pace{time.Now(), 1000}, 1_000_000, 1, time.Now().Add(20*time.Millisecond), 2, emptyFrame,
		func([]byte, flight) error { answers++; return nil })
	if err != nil || n == 0 || n > 100 || int64(answers) != n {
		t.Fatalf("%d requests, %d answers, %v", n, answers, err)
	}
}
