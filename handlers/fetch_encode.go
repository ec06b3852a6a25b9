package handlers

import (
	"encoding/binary"
	"slices"

	"github.com/ottla/ottla/replica"
	"github.com/ottla/ottla/wire"
)

// fetchAnswer is a Fetch response as it is encoded: everything but the records, which leave as file
// ranges. kmsg would copy them.
type fetchAnswer struct {
	version   int16
	errorCode int16
	sessionID int32
	// partitions are answered in this order; neighbours of one topic share an entry.
	partitions []fetchAnswerPartition
	brokers    endpoints
	// memory is what encoding needs, used again.
	memory struct {
		buf    []byte
		cuts   []fetchCut
		chunks []wire.Chunk
	}
}

type fetchAnswerPartition struct {
	topic   string
	topicID [16]byte
	code    int16
	// emptyAborted says that there are no aborted transactions, where null says that nobody looked.
	emptyAborted bool
	leader       leaderHint
	// result is the partition's read; its records are taken.
	result *replica.FetchPartition
}

// Tags of the flexible versions.
const (
	fetchTagEndpoints      = 0 // of the response
	fetchTagDivergingEpoch = 0 // of a partition
	fetchTagCurrentLeader  = 1
)

// encode makes the chunks of the response body, which are valid until the next use of a. It takes the records of all
// partitions.
func (a *fetchAnswer) encode() []wire.Chunk {
	e := fetchEncoder{version: a.version, flexible: a.version >= fetchFlexible}
	e.buf = slices.Grow(a.memory.buf[:0], 64+128*len(a.partitions))
	e.cuts = a.memory.cuts[:0]
	e.int32(0) // Throttle time.
	if a.version >= fetchSessionsFrom {
		e.int16(a.errorCode)
		e.int32(a.sessionID)
	}
	e.arrayLen(a.countTopics())
	for i := 0; i < len(a.partitions); {
		n := a.sameTopic(i)
		e.topic(a.partitions[i : i+n])
		i += n
	}
	e.responseTags(a.brokers)
	chunks := e.chunks(a.memory.chunks[:0])
	a.memory.buf, a.memory.cuts, a.memory.chunks = e.buf, e.cuts, chunks
	return chunks
}

// sameTopic counts the neighbours from i on that belong to one topic.
func (a *fetchAnswer) sameTopic(i int) int {
	first := &a.partitions[i]
	n := 1
	for i+n < len(a.partitions) && a.partitions[i+n].topic == first.topic && a.partitions[i+n].topicID == first.topicID {
		n++
	}
	return n
}

func (a *fetchAnswer) countTopics() int {
	topics := 0
	for i := 0; i < len(a.partitions); i += a.sameTopic(i) {
		topics++
	}
	return topics
}

// fetchCut is a place in the encoded bytes where a file range goes.
type fetchCut struct {
	at   int
	file wire.FileRange
}

// fetchEncoder appends the protocol's primitives.
type fetchEncoder struct {
	version  int16
	flexible bool
	buf      []byte
	cuts     []fetchCut
}

func (e *fetchEncoder) int16(v int16) { e.buf = binary.BigEndian.AppendUint16(e.buf, uint16(v)) }
func (e *fetchEncoder) int32(v int32) { e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(v)) }
func (e *fetchEncoder) int64(v int64) { e.buf = binary.BigEndian.AppendUint64(e.buf, uint64(v)) }

func (e *fetchEncoder) uvarint(n int) { e.buf = binary.AppendUvarint(e.buf, uint64(n)) }

func (e *fetchEncoder) string(s string) {
	if e.flexible {
		e.uvarint(len(s) + 1)
	} else {
		e.int16(int16(len(s)))
	}
	e.buf = append(e.buf, s...)
}

func (e *fetchEncoder) arrayLen(n int) {
	if e.flexible {
		e.uvarint(n + 1)
	} else {
		e.int32(int32(n))
	}
}

func (e *fetchEncoder) noTags() {
	if e.flexible {
		e.buf = append(e.buf, 0)
	}
}

func (e *fetchEncoder) topic(partitions []fetchAnswerPartition) {
	if e.version >= fetchTopicIDs {
		e.buf = append(e.buf, partitions[0].topicID[:]...)
	} else {
		e.string(partitions[0].topic)
	}
	e.arrayLen(len(partitions))
	for i := range partitions {
		e.partition(&partitions[i])
	}
	e.noTags()
}

func (e *fetchEncoder) partition(p *fetchAnswerPartition) {
	fp := p.result
	e.int32(fp.Partition)
	e.int16(p.code)
	e.int64(fp.HighWatermark)
	e.int64(fp.LastStableOffset)
	if e.version >= 5 {
		e.int64(fp.LogStartOffset)
	}
	if fp.Aborted == nil && !p.emptyAborted {
		e.arrayLen(-1)
	} else {
		e.arrayLen(len(fp.Aborted))
		for _, a := range fp.Aborted {
			e.int64(a.ProducerID)
			e.int64(a.FirstOffset)
			e.noTags()
		}
	}
	if e.version >= 11 {
		e.int32(fp.PreferredReadReplica)
	}
	e.records(fp)
	e.partitionTags(p)
}

func (e *fetchEncoder) records(fp *replica.FetchPartition) {
	n := 0
	if fp.Records != nil {
		n = fp.Records.Len()
	}
	e.arrayLen(n) // Bytes have the same length prefix as arrays.
	if fp.Records != nil {
		e.cuts = append(e.cuts, fetchCut{at: len(e.buf), file: fp.Records})
		fp.Records = nil
	}
}

func (e *fetchEncoder) partitionTags(p *fetchAnswerPartition) {
	if !e.flexible {
		return
	}
	tags := 0
	if p.result.HasDiverging {
		tags++
	}
	if p.leader != noLeaderHint {
		tags++
	}
	e.uvarint(tags)
	if p.result.HasDiverging {
		e.uvarint(fetchTagDivergingEpoch)
		e.uvarint(4 + 8 + 1)
		e.int32(p.result.Diverging.Epoch)
		e.int64(p.result.Diverging.EndOffset)
		e.noTags()
	}
	if p.leader != noLeaderHint {
		e.uvarint(fetchTagCurrentLeader)
		e.uvarint(4 + 4 + 1)
		e.int32(p.leader.id)
		e.int32(p.leader.epoch)
		e.noTags()
	}
}

func (e *fetchEncoder) responseTags(brokers endpoints) {
	if !e.flexible {
		return
	}
	if len(brokers) == 0 || e.version < fetchEndpoints {
		e.uvarint(0)
		return
	}
	tag := fetchEncoder{flexible: true}
	tag.arrayLen(len(brokers))
	for _, b := range brokers {
		tag.int32(b.id)
		tag.string(b.host)
		tag.int32(b.port)
		if b.rack == nil {
			tag.uvarint(0)
		} else {
			tag.string(*b.rack)
		}
		tag.noTags()
	}
	e.uvarint(1)
	e.uvarint(fetchTagEndpoints)
	e.uvarint(len(tag.buf))
	e.buf = append(e.buf, tag.buf...)
}

// chunks cuts the bytes at the file ranges; it appends to chunks.
func (e *fetchEncoder) chunks(chunks []wire.Chunk) []wire.Chunk {
	from := 0
	for _, c := range e.cuts {
		chunks = append(chunks, wire.Chunk{Bytes: e.buf[from:c.at:c.at]}, wire.Chunk{File: c.file})
		from = c.at
	}
	if from < len(e.buf) {
		chunks = append(chunks, wire.Chunk{Bytes: e.buf[from:]})
	}
	return chunks
}
