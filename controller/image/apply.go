package image

import (
	"errors"
	"fmt"

	"github.com/ottla/ottla/internal/record/metadata"
)

// ErrUnsupported is wrapped by the error of Apply for a record that this version of the program
// doesn't handle: a newer program wrote it, and going on without it would give a wrong image.
var ErrUnsupported = errors.New("unsupported metadata record")

// ApplyError tells which record couldn't be applied.
type ApplyError struct {
	// Offset is the metadata offset the record would have had.
	Offset int64
	Record metadata.Record
	Err    error
}

// Error implements error.
func (e *ApplyError) Error() string {
	return fmt.Sprintf("metadata offset %d, record type %d (%+v): %v", e.Offset, e.Record.RecordType(), e.Record, e.Err)
}

// Unwrap returns the reason.
func (e *ApplyError) Unwrap() error { return e.Err }

// Apply returns the image that follows from m by the records of one batch, written in a controller
// epoch, and what changed. The batch is taken whole or, with an *ApplyError, not at all. Apply takes
// the records' slices; the caller doesn't change them afterwards.
func (m *Image) Apply(epoch int32, records []metadata.Record) (*Image, *Delta, error) {
	b := newBuilder(m)
	b.next.epoch = max(epoch, m.epoch)
	for _, r := range records {
		if err := b.apply(r); err != nil {
			return nil, nil, &ApplyError{Offset: b.next.offset + 1, Record: r, Err: err}
		}
		b.next.offset++
	}
	next, delta := b.finish()
	return next, delta, nil
}

// builder holds an image in the making.
type builder struct {
	old  *Image
	next Image

	// topics are those that the batch created, changed or removed; they enter the trees in finish.
	topics map[ID]*topicEdit
	// names finds topics of this batch by name; an entry may have a nil cur (removed).
	names map[string]*topicEdit

	brokers  map[int32]struct{}
	configs  map[Resource]struct{}
	features bool
}

// topicEdit is a topic of the batch. cur is nil if it is removed; it belongs to the builder alone
// and may be changed in place, but for the pieces of its partition list that own doesn't name.
type topicEdit struct {
	old, cur *Topic
	// own are the pieces that were made by this batch; nil if the list of pieces itself wasn't.
	own map[int]bool
}

// set puts a partition into the list, whose pieces are copied once a batch.
func (e *topicEdit) set(i int, p *Partition) {
	l, k := &e.cur.partitions, i/pieceLen
	if e.own == nil || !e.own[k] {
		if e.own == nil {
			e.own = map[int]bool{}
		}
		*l = l.with(i, p)
		e.own[k] = true
		return
	}
	if piece := l.pieces[k]; i%pieceLen < len(piece) {
		piece[i%pieceLen] = p
	} else {
		l.pieces[k] = append(piece, p)
	}
	l.n = max(l.n, i+1)
}

func newBuilder(m *Image) *builder {
	return &builder{
		old: m, next: *m, topics: map[ID]*topicEdit{}, names: map[string]*topicEdit{},
		brokers: map[int32]struct{}{}, configs: map[Resource]struct{}{},
	}
}

// apply adds one record. It must not depend on anything but the records before it.
func (b *builder) apply(record metadata.Record) error {
	switch r := record.(type) {
	case *metadata.NoOpRecord:
		return nil
	case *metadata.ClusterRecord:
		return b.applyCluster(r)
	case *metadata.FeatureLevelRecord:
		return b.applyFeature(r)
	case *metadata.TopicRecord:
		return b.applyTopic(r)
	case *metadata.RemoveTopicRecord:
		return b.applyRemoveTopic(r)
	case *metadata.PartitionRecord:
		return b.applyPartition(r)
	case *metadata.PartitionChangeRecord:
		return b.applyPartitionChange(r)
	case *metadata.ClearElrRecord:
		return b.applyClearElr(r)
	case *metadata.ConfigRecord:
		return b.applyConfig(r)
	case *metadata.RegisterBrokerRecord:
		return b.applyRegisterBroker(r)
	case *metadata.UnregisterBrokerRecord:
		return b.applyUnregisterBroker(r)
	case *metadata.FenceBrokerRecord:
		return b.editBroker(r.ID, r.Epoch, func(x *Broker) { x.Fenced = true })
	case *metadata.UnfenceBrokerRecord:
		return b.editBroker(r.ID, r.Epoch, func(x *Broker) { x.Fenced = false })
	case *metadata.BrokerRegistrationChangeRecord:
		return b.applyBrokerChange(r)
	case *metadata.RegisterControllerRecord:
		return b.applyRegisterController(r)
	case *metadata.UnregisterControllerRecord:
		return b.applyUnregisterController(r)
	case *metadata.ProducerIdsRecord:
		return b.applyProducerIDs(r)
	}
	return ErrUnsupported
}

func (b *builder) applyCluster(r *metadata.ClusterRecord) error {
	if r.ClusterID == "" {
		return errors.New("empty cluster id")
	}
	if b.next.clusterID != "" && b.next.clusterID != r.ClusterID {
		return fmt.Errorf("cluster already has id %s", b.next.clusterID)
	}
	b.next.clusterID = r.ClusterID
	return nil
}

func (b *builder) applyProducerIDs(r *metadata.ProducerIdsRecord) error {
	if r.NextProducerID < b.next.producerIDs.Next {
		return fmt.Errorf("next producer id goes back from %d", b.next.producerIDs.Next)
	}
	b.next.producerIDs = ProducerIDs{BrokerID: r.BrokerID, BrokerEpoch: r.BrokerEpoch, Next: r.NextProducerID}
	return nil
}
