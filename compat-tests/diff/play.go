package diff

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime/debug"
	"sync"
)

// Play runs cases against a broker and returns their transcripts in the order of the cases. Up to
// parallel of them run at once; those that must be alone run after the others. It stops early, with
// transcripts missing, when ctx ends.
func Play(ctx context.Context, address string, cases []Case, parallel int) []*Transcript {
	out := make([]*Transcript, len(cases))
	var wg sync.WaitGroup
	next := make(chan int)
	for range parallel {
		wg.Go(func() {
			for i := range next {
				out[i] = playCase(address, cases[i])
			}
		})
	}
	feed(ctx, next, cases)
	close(next)
	wg.Wait()
	for i, c := range cases {
		if c.Alone && ctx.Err() == nil {
			out[i] = playCase(address, c)
		}
	}
	return out
}

func feed(ctx context.Context, next chan<- int, cases []Case) {
	for i, c := range cases {
		if c.Alone {
			continue
		}
		select {
		case next <- i:
		case <-ctx.Done():
			return
		}
	}
}

// playCase runs one script. What stops it early shows as its last step.
func playCase(address string, c Case) *Transcript {
	t := &Transcript{Case: c.Name}
	random := make([]byte, 5)
	_, _ = rand.Read(random) // Never fails.
	s, err := openScript(address, random)
	if err != nil {
		t.Steps = []Step{{Title: "connect", Lines: []Line{{Fields: []Field{{"Failed", fmt.Sprintf("%q", err.Error())}}}}}}
		return t
	}
	defer s.close()
	func() {
		defer func() {
			switch p := recover().(type) {
			case nil, abort:
			default: // An answer of a shape that the script didn't expect.
				s.record("script", []Line{{Fields: []Field{{"Failed", fmt.Sprintf("%q", fmt.Sprint(p, "\n", string(debug.Stack())))}}}})
			}
		}()
		c.Run(s)
	}()
	t.Steps = s.steps
	return t
}

// openScript is newScript with a failed dial as an error.
func openScript(address string, random []byte) (s *Script, err error) {
	defer func() {
		if p := recover(); p != nil {
			a, ok := p.(abort)
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("%s", a.reason)
		}
	}()
	return newScript(address, random)
}
