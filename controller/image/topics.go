package image

import "iter"

// ID is a uuid as the protocol carries it: topic ids, directory ids, incarnation ids.
type ID = [16]byte

// Topic is a topic and its partitions.
type Topic struct {
	Name string
	ID   ID

	partitions partitionList
}

// NumPartitions counts the topic's partitions; their indexes are 0 to NumPartitions()-1.
func (t *Topic) NumPartitions() int { return t.partitions.len() }

// Partition returns a partition, nil if the index is out of range.
func (t *Topic) Partition(index int32) *Partition {
	if index < 0 || int(index) >= t.partitions.len() {
		return nil
	}
	return t.partitions.at(int(index))
}

// Partitions yields the partitions in order of their indexes.
func (t *Topic) Partitions() iter.Seq2[int32, *Partition] {
	return func(yield func(int32, *Partition) bool) {
		for i := range t.partitions.len() {
			if !yield(int32(i), t.partitions.at(i)) {
				return
			}
		}
	}
}

// ReplicationFactor is the number of replicas of the topic's first partition; 0 without one.
func (t *Topic) ReplicationFactor() int {
	if t.partitions.len() == 0 {
		return 0
	}
	return len(t.partitions.at(0).Replicas)
}

// partitionList is an immutable list of partitions in pieces of equal length, so that changing
// one partition of a large topic copies one piece and the list of pieces only.
type partitionList struct {
	// pieces all have pieceLen entries, but for the last one, which has at least one.
	pieces [][]*Partition
	n      int
}

const pieceLen = 128

func (l partitionList) len() int { return l.n }

func (l partitionList) at(i int) *Partition { return l.pieces[i/pieceLen][i%pieceLen] }

// with returns a list in which entry i is p; i may be the list's length.
func (l partitionList) with(i int, p *Partition) partitionList {
	k := i / pieceLen
	pieces := append([][]*Partition(nil), l.pieces...)
	if k == len(pieces) {
		pieces = append(pieces, nil)
	}
	piece := append([]*Partition(nil), pieces[k]...)
	if i%pieceLen == len(piece) {
		piece = append(piece, p)
	} else {
		piece[i%pieceLen] = p
	}
	pieces[k] = piece
	return partitionList{pieces: pieces, n: max(l.n, i+1)}
}
