package image

// ProducerIDs tells where the next block of producer ids starts, and who took the last one.
type ProducerIDs struct {
	// BrokerID and BrokerEpoch are those of the broker that took the last block; -1 before the first.
	BrokerID    int32
	BrokerEpoch int64
	// Next is the first producer id that nobody has.
	Next int64
}
