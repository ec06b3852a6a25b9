package main

import (
	"math"
	"reflect"

	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/internal/record/raftcontrol"
	"github.com/ottla/ottla/internal/record/share"
	"github.com/ottla/ottla/log/batch"
)

// resetter is a record that knows its schema's defaults.
type resetter interface{ Reset() }

// fill sets every field to a value that isn't its default. n makes them differ.
func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), n)
		}
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(*n+int64(i)*37) & 0xff)
		}
	case reflect.String:
		v.SetString("a\"\\\t\u0001\u00e9" + string(rune('a'+*n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat([]float64{0.5, 1024, 1e7, 12345678.5, 1e-4, 3e300, 0}[*n%7])
	case reflect.Uint8:
		v.SetUint(uint64(200+*n) & 0xff)
	case reflect.Uint16:
		v.SetUint(uint64(40_000 + *n%1000))
	default:
		v.SetInt(*n%100 + 1)
	}
}

// metadataRecords are all records of Kafka's metadata log.
func metadataRecords() []metadata.Record {
	return []metadata.Record{
		&metadata.RegisterBrokerRecord{}, &metadata.UnregisterBrokerRecord{}, &metadata.TopicRecord{}, &metadata.PartitionRecord{},
		&metadata.ConfigRecord{}, &metadata.PartitionChangeRecord{}, &metadata.AccessControlEntryRecord{}, &metadata.FenceBrokerRecord{},
		&metadata.UnfenceBrokerRecord{}, &metadata.RemoveTopicRecord{}, &metadata.DelegationTokenRecord{}, &metadata.UserScramCredentialRecord{},
		&metadata.FeatureLevelRecord{}, &metadata.ClientQuotaRecord{}, &metadata.ProducerIdsRecord{}, &metadata.RemoveAccessControlEntryRecord{},
		&metadata.BrokerRegistrationChangeRecord{}, &metadata.NoOpRecord{}, &metadata.ZkMigrationStateRecord{}, &metadata.RemoveUserScramCredentialRecord{},
		&metadata.BeginTransactionRecord{}, &metadata.EndTransactionRecord{}, &metadata.AbortTransactionRecord{}, &metadata.RemoveDelegationTokenRecord{},
		&metadata.RegisterControllerRecord{}, &metadata.ClearElrRecord{}, &metadata.UnregisterControllerRecord{},
	}
}

// recordMetadata writes control records and every metadata record in every version, with all fields at their defaults and none.
func recordMetadata(name string) error {
	var n int64
	o := batch.DefaultOptions()
	o.Control = true
	b := batch.NewCodecs().NewBuilder(nil, o)
	control := func(r raftcontrol.Record, version int16) {
		fill(reflect.ValueOf(r).Elem(), &n)
		// The first field of each is its version.
		reflect.ValueOf(r).Elem().Field(0).SetInt(int64(version))
		key := []byte{0, 0, 0, byte(r.RecordType())}
		b.Append(3000, key, r.AppendTo(nil, version))
	}
	for _, r := range []raftcontrol.Record{&raftcontrol.LeaderChangeMessage{}, &raftcontrol.SnapshotHeaderRecord{}, &raftcontrol.SnapshotFooterRecord{},
		&raftcontrol.KRaftVersionRecord{}, &raftcontrol.VotersRecord{}} {
		// The stock tool reads all of them as version 0.
		control(r, 0)
	}
	out, err := b.Build()
	if err != nil {
		return err
	}
	o = batch.DefaultOptions()
	o.BaseOffset = int64(b.NumRecords())
	b = batch.NewCodecs().NewBuilder(out, o)
	for _, r := range metadataRecords() {
		lowest := int16(0)
		if _, ok := r.(*metadata.RegisterBrokerRecord); ok {
			lowest = metadata.RegisterBrokerRecordMinVersion
		}
		for version := lowest; version <= r.MaxVersion(); version++ {
			r.(resetter).Reset()
			b.Append(3001, nil, metadata.Append(nil, r, version))
			fill(reflect.ValueOf(r).Elem(), &n)
			b.Append(3002, nil, metadata.Append(nil, r, version))
		}
	}
	return build(b, name)
}

// recordShare writes the records of the share coordinator.
func recordShare(name string) error {
	var n int64
	b := batch.NewCodecs().NewBuilder(nil, batch.DefaultOptions())
	for _, r := range []struct {
		key   share.Key
		value share.Value
	}{{&share.ShareSnapshotKey{}, &share.ShareSnapshotValue{}}, {&share.ShareUpdateKey{}, &share.ShareUpdateValue{}}} {
		fill(reflect.ValueOf(r.key).Elem(), &n)
		key := share.AppendKey(nil, r.key)
		for version := range r.value.MaxVersion() + 1 {
			r.value.(resetter).Reset()
			b.Append(4000, key, share.AppendValue(nil, r.value, version))
			fill(reflect.ValueOf(r.value).Elem(), &n)
			b.Append(4001, key, share.AppendValue(nil, r.value, version))
		}
		b.Append(4002, key, nil)
	}
	b.Append(math.MaxInt32, []byte{0, 99, 0, 0}, []byte{0, 0}) // A type that nobody knows.
	return build(b, name)
}
