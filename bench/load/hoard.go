package load

// Hoard is clients that send many Fetch requests at once and never read an answer.
type Hoard struct {
	Address  string
	Topic    string
	Clients  int
	Requests int // of a client
	MaxBytes int // of a request
}

// Run sends all requests, calls meanwhile, and closes the connections.
func (h Hoard) Run(meanwhile func() error) error {
	frame := fetchFrame(h.Topic, 0, h.MaxBytes, 0)
	putOffset(frame, 0)
	for range h.Clients {
		c, err := dial(h.Address)
		if err != nil {
			return err
		}
		defer c.Close()
		for i := range h.Requests {
			setCorrelation(frame, uint32(i))
			if err := c.send(frame); err != nil {
				return err
			}
		}
	}
	return meanwhile()
}
