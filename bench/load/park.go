package load

import (
	"time"
)

// Park holds connections open, each with a Fetch that waits at the end of a partition.
type Park struct {
	Address     string
	Topic       string
	Connections int
	// Idle connections send nothing.
	Idle bool
}

// parkWait is how long the broker is asked to hold a fetch.
const parkWait = 5 * time.Minute

// Run opens the connections, calls parked once all wait, and closes them.
func (p Park) Run(parked func() error) error {
	first, err := dial(p.Address)
	if err != nil {
		return err
	}
	defer first.Close()
	var end int64
	if !p.Idle {
		if end, err = first.endOffset(p.Topic, 0); err != nil {
			return err
		}
	}
	frame := fetchFrame(p.Topic, 0, 1<<20, int32(parkWait.Milliseconds()))
	putOffset(frame, end)
	for range p.Connections {
		c, err := dial(p.Address)
		if err != nil {
			return err
		}
		defer c.Close()
		if p.Idle {
			continue
		}
		if err := c.send(frame); err != nil {
			return err
		}
	}
	return parked()
}
