package dump

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/ottla/ottla/internal/record/offsets"
	"github.com/ottla/ottla/internal/record/share"
	"github.com/ottla/ottla/internal/record/transactions"
	"github.com/ottla/ottla/log/batch"
)

// Offsets renders the records of __consumer_offsets as JSON.
func Offsets(rec *batch.Record) (Contents, error) {
	return coordinatorRecord(rec, func(key []byte) (jsonRecord, error) {
		k, err := offsets.ReadKey(key)
		return jsonRecord{k, recordType(k)}, unknownType[*offsets.TypeError](err)
	}, offsetsValue)
}

// Transactions renders the records of __transaction_state as JSON.
func Transactions(rec *batch.Record) (Contents, error) {
	return coordinatorRecord(rec, func(key []byte) (jsonRecord, error) {
		k, err := transactions.ReadKey(key)
		return jsonRecord{k, recordType(k)}, unknownType[*transactions.TypeError](err)
	}, transactionValue)
}

// ShareGroupState renders the records of __share_group_state as JSON.
func ShareGroupState(rec *batch.Record) (Contents, error) {
	return coordinatorRecord(rec, func(key []byte) (jsonRecord, error) {
		k, err := share.ReadKey(key)
		return jsonRecord{k, recordType(k)}, unknownType[*share.TypeError](err)
	}, func(dst []byte, recordType int16, src []byte) ([]byte, error) {
		v, version, err := share.ReadValue(recordType, src)
		if err != nil {
			return nil, err
		}
		return framed(dst, v, version), nil
	})
}

// jsonRecord is a key with its type.
type jsonRecord struct {
	jsonAppender
	recordType int16
}

type jsonAppender interface {
	AppendJSON(dst []byte, version int16) []byte
}

func recordType(k interface{ RecordType() int16 }) int16 {
	if k == nil {
		return -1
	}
	return k.RecordType()
}

// errUnknownType marks records that a newer broker wrote.
var errUnknownType = errors.New("unknown record type")

// unknownType marks an error of type E with errUnknownType.
func unknownType[E error](err error) error {
	var e E
	if errors.As(err, &e) {
		return errors.Join(errUnknownType, err)
	}
	return err
}

// coordinatorRecord renders a record in the frame of the coordinators' topics. A record that can't be
// decoded is told of in the place of its key, as the stock tool does; without a key it is damage.
func coordinatorRecord(rec *batch.Record, readKey func([]byte) (jsonRecord, error),
	value func(dst []byte, recordType int16, src []byte) ([]byte, error),
) (Contents, error) {
	if rec.Key == nil {
		return Contents{}, errors.New("the key that the decoder needs is missing")
	}
	key, err := readKey(rec.Key)
	if errors.Is(err, errUnknownType) {
		t := int16(binary.BigEndian.Uint16(rec.Key))
		return Contents{HasKey: true, Key: fmt.Sprintf("Unknown record type %d at offset %d, skipping.", t, rec.Offset)}, nil
	}
	payload := []byte("<DELETE>")
	if err == nil && rec.Value != nil {
		payload, err = value(nil, key.recordType, rec.Value)
	}
	if err != nil {
		return Contents{HasKey: true, Key: fmt.Sprintf("Error at offset %d, skipping. %v", rec.Offset, err)}, nil
	}
	text := fmt.Appendf(nil, `{"type":"%d","data":`, key.recordType)
	text = append(key.AppendJSON(text, 0), '}')
	return Contents{HasKey: true, Key: string(text), HasValue: true, Value: string(payload)}, nil
}

// framed puts a value's version around its fields.
func framed(dst []byte, v jsonAppender, version int16) []byte {
	dst = fmt.Appendf(dst, `{"version":"%d","data":`, version)
	return append(v.AppendJSON(dst, version), '}')
}

func offsetsValue(dst []byte, recordType int16, src []byte) ([]byte, error) {
	v, version, err := offsets.ReadValue(recordType, src)
	if err != nil {
		return nil, err
	}
	if g, ok := v.(*offsets.GroupMetadataValue); ok && g.ProtocolType == "consumer" {
		return append(groupJSON(fmt.Appendf(dst, `{"version":"%d","data":`, version), g, version), '}'), nil
	}
	return framed(dst, v, version), nil
}

// transactionStates are the names of TransactionLogValue.TransactionStatus.
var transactionStates = [...]string{
	"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
}

func transactionValue(dst []byte, recordType int16, src []byte) ([]byte, error) {
	v, version, err := transactions.ReadValue(recordType, src)
	if err != nil {
		return nil, err
	}
	dst = framed(dst, v, version)
	if t, ok := v.(*transactions.TransactionLogValue); ok {
		// The status is told by name. Only numbers stand before it, so the first match is the field.
		const field = `"transactionStatus":`
		number := strconv.Itoa(int(t.TransactionStatus))
		name := number
		if s := int(t.TransactionStatus); s >= 0 && s < len(transactionStates) {
			name = transactionStates[s]
		}
		dst = bytes.Replace(dst, []byte(field+number), []byte(field+`"`+name+`"`), 1)
	}
	return dst, nil
}
