package diff

import (
	"encoding/base32"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Case is a script with a name. The part of the name before the slash is the API, as its handler file
// is called; a case that comes from a report in the list of known problems has its number in the name.
type Case struct {
	Name string
	// Alone keeps other cases away while this one runs: it changes or lists what all share.
	Alone bool
	Run   func(*Script)
}

// Script is a case while it runs. Its methods record steps; a step that gets no answer ends the script,
// so that cases needn't check. It isn't safe for concurrent use.
type Script struct {
	*Peer

	address string
	nonce   string
	start   int64
	render  *renderer
	aliases *aliases
	peers   map[string]*Peer
	steps   []Step
	say     string
	adopted map[string]bool
}

// Peer is one connection of a script.
type Peer struct {
	script *Script
	label  string
	conn   *Conn
}

// abort ends a script; the reason is in its last step.
type abort struct{ reason string }

// newScript connects a script's first peer.
func newScript(address string, random []byte) (*Script, error) {
	host, port, ok := strings.Cut(address, ":")
	if !ok {
		return nil, fmt.Errorf("address %q has no port", address)
	}
	s := &Script{
		address: address,
		nonce:   strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random)),
		start:   time.Now().Add(-2 * time.Hour).Truncate(time.Second).UnixMilli(),
		peers:   map[string]*Peer{},
		adopted: map[string]bool{},
	}
	s.aliases = newAliases(s.start, host, port)
	s.render = newRenderer(s.aliases, func(name string) bool {
		return strings.Contains(name, s.nonce) || s.adopted[name]
	})
	s.Peer = s.On("")
	return s, nil
}

func (s *Script) close() {
	for _, p := range s.peers {
		if p.conn != nil {
			p.conn.Close()
		}
	}
}

// On is the connection with a label, opened at first use.
func (s *Script) On(label string) *Peer {
	if p := s.peers[label]; p != nil {
		return p
	}
	clientID := "diff"
	if label != "" {
		clientID += "-" + label
	}
	conn, err := Dial(s.address, clientID)
	if err != nil {
		panic(abort{"dial: " + err.Error()})
	}
	p := &Peer{script: s, label: label, conn: conn}
	s.peers[label] = p
	return p
}

// Name is a fresh name that answers show as <alias>.
func (s *Script) Name(alias string) string {
	name := alias + "-" + s.nonce
	s.aliases.bound[name] = "<" + alias + ">"
	return name
}

// Adopt makes a name that others know as well belong to the case, so that lists show it.
func (s *Script) Adopt(name string) string {
	s.adopted[name] = true
	return name
}

// Time is a fixed time in ms, shown as start+n; all of them lie in the past.
func (s *Script) Time(n int64) int64 { return s.start + n }

// Say explains the next step in the golden file.
func (s *Script) Say(format string, args ...any) *Script {
	s.say = fmt.Sprintf(format, args...)
	return s
}

func (s *Script) record(title string, lines []Line) {
	if s.say != "" {
		title += ": " + s.say
	}
	s.say = ""
	s.steps = append(s.steps, Step{Title: title, Lines: lines})
}

// fail ends the script with what happened as its last step.
func (s *Script) fail(title, what string) {
	s.record(title, []Line{{Fields: []Field{{"Failed", strconv.Quote(what)}}}})
	panic(abort{title + ": " + what})
}

// Pending is a request whose answer hasn't been read.
type Pending struct {
	peer          *Peer
	req           kmsg.Request
	correlationID int32
	title         string
}

func (p *Peer) title(what string) string {
	if p.label != "" {
		return p.label + " " + what
	}
	return what
}

// Send writes a request and leaves its answer for later. Answers of one peer are taken in order.
func (p *Peer) Send(version int16, req kmsg.Request) *Pending {
	req.SetVersion(version)
	title := p.title(fmt.Sprintf("%s v%d", kmsg.NameForKey(req.Key()), version))
	id, err := p.conn.Send(req)
	if err != nil {
		p.script.fail(title, err.Error())
	}
	return &Pending{p, req, id, title}
}

// read takes the answer's body off the connection.
func (w *Pending) read() ([]byte, error) {
	frame, err := w.peer.conn.ReadFrame(answerTimeout)
	if err != nil {
		return nil, err
	}
	return Body(frame, w.req, w.correlationID)
}

// Answer records and returns the answer.
func (w *Pending) Answer() kmsg.Response {
	s := w.peer.script
	body, err := w.read()
	if errors.Is(err, errClosed) {
		s.record(w.title, []Line{{Fields: []Field{{"Answer", "connection-closed"}}}})
		panic(abort{w.title + ": " + err.Error()})
	}
	if err != nil {
		s.fail(w.title, err.Error())
	}
	resp := w.req.ResponseKind()
	s.record(w.title, s.render.answer(resp, body))
	return resp
}

// AnswerOrNone is Answer where the oracle may owe one: no answer within a while ends the script, but is no
// failure.
func (w *Pending) AnswerOrNone() {
	s := w.peer.script
	frame, err := w.peer.conn.ReadFrame(silence)
	if err != nil {
		what := "none"
		if errors.Is(err, errClosed) {
			what = "connection-closed"
		}
		s.record(w.title, []Line{{Fields: []Field{{"Answer", what}}}})
		panic(abort{w.title + ": no answer"})
	}
	body, err := Body(frame, w.req, w.correlationID)
	if err != nil {
		s.fail(w.title, err.Error())
	}
	s.record(w.title, s.render.answer(w.req.ResponseKind(), body))
}

// Ask sends a request at a version, records the answer and returns it.
func (p *Peer) Ask(version int16, req kmsg.Request) kmsg.Response {
	return p.Send(version, req).Answer()
}

// Quiet is Ask without a record, for what prepares a case.
func (p *Peer) Quiet(version int16, req kmsg.Request) kmsg.Response {
	return p.Send(version, req).Quiet()
}

// settleTimeout is how long a broker may take to apply what it acknowledged.
const settleTimeout = 10 * time.Second

// Until asks quietly until an answer satisfies done, then records that one. Brokers apply metadata after
// they acknowledged it; the last answer is recorded if the deadline passes.
func (p *Peer) Until(done func(kmsg.Response) bool, version int16, req kmsg.Request) kmsg.Response {
	deadline := time.Now().Add(settleTimeout)
	for {
		w := p.Send(version, req)
		body, err := w.read()
		if err != nil {
			p.script.fail(w.title, err.Error())
		}
		resp := req.ResponseKind()
		if err := resp.ReadFrom(body); err != nil || done(resp) || time.Now().After(deadline) {
			p.script.record(w.title, p.script.render.answer(req.ResponseKind(), body))
			return resp
		}
		pause()
	}
}

// pause keeps a polling loop from spinning.
func pause() { <-time.After(10 * time.Millisecond) }

// Raw writes bytes as they are.
func (p *Peer) Raw(b []byte) {
	if err := p.conn.Write(b); err != nil && !errors.Is(err, errClosed) {
		p.script.fail(p.title("raw bytes"), err.Error())
	}
}

// RawAnswer records the next frame in hex, or that the connection was closed.
func (p *Peer) RawAnswer(title string) { p.RawHead(title, maxFrameBytes) }

// RawHead is RawAnswer of the frame's first bytes only.
func (p *Peer) RawHead(title string, atMost int) {
	f := Field{"Connection", "closed"}
	frame, err := p.conn.ReadFrame(answerTimeout)
	switch {
	case err == nil:
		f = Field{"Frame", fmt.Sprintf("%x", frame[:min(len(frame), atMost)])}
	case !errors.Is(err, errClosed):
		f = Field{"Failed", strconv.Quote(err.Error())}
	}
	p.script.record(p.title(title), []Line{{Fields: []Field{f}}})
}

// silence is how long a connection that says nothing is listened to before it counts as silent. Few cases
// end in silence, so it is long enough for a busy machine.
const silence = 5 * time.Second

// Fate records what became of the connection: closed, open (it answers a probe) or silent (it waits for
// more bytes).
func (p *Peer) Fate(title string) {
	probe := kmsg.NewPtrApiVersionsRequest()
	probe.SetVersion(0)
	fate := "closed"
	if id, err := p.conn.Send(probe); err == nil {
		frame, err := p.conn.ReadFrame(silence)
		switch {
		case err == nil:
			fate = "open"
			if _, err := Body(frame, probe, id); err != nil {
				fate = fmt.Sprintf("answered:%x", frame)
			}
		case !errors.Is(err, errClosed):
			fate = "silent"
		}
	}
	p.script.record(p.title(title), []Line{{Fields: []Field{{"Connection", fate}}}})
}

// Quiet takes the answer without recording it.
func (w *Pending) Quiet() kmsg.Response {
	s := w.peer.script
	body, err := w.read()
	if err != nil {
		s.fail(w.title, err.Error())
	}
	resp := w.req.ResponseKind()
	if err := resp.ReadFrom(body); err != nil {
		s.fail(w.title, err.Error())
	}
	return resp
}
