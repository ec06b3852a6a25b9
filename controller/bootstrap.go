package controller

import (
	"math/rand/v2"
	"strconv"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/internal/uuid"
)

// bootstrapFeatures are the feature levels of a new cluster: those of Kafka 4.4.0. kraft.version
// isn't in Kafka's metadata log but in its control records; clients see it beside the others.
var bootstrapFeatures = []image.Feature{
	{Name: image.MetadataVersion, Level: 33},
	{Name: "eligible.leader.replicas.version", Level: 1},
	{Name: "group.version", Level: 1},
	{Name: "kraft.version", Level: 1},
	{Name: "share.version", Level: 2},
	{Name: "streams.version", Level: 1},
	{Name: "transaction.version", Level: 2},
}

// bootstrapRecords are the first records of a cluster. They are one raft entry: a cluster is
// bootstrapped or isn't, whatever crashes. id is the cluster's, empty for a new one.
func bootstrapRecords(cfg Config, id string) []metadata.Record {
	if id == "" {
		id = NewClusterID(cfg.Rand)
	}
	records := []metadata.Record{&metadata.ClusterRecord{ClusterID: id}}
	for _, f := range bootstrapFeatures {
		records = append(records, &metadata.FeatureLevelRecord{Name: f.Name, FeatureLevel: f.Level})
	}
	// With eligible leader replicas the minimum is a matter of the cluster, not of each broker's file.
	minISR := strconv.FormatInt(cfg.Settings.Int("min.insync.replicas"), 10)
	return append(records, &metadata.ConfigRecord{ResourceType: image.ResourceBroker, Name: "min.insync.replicas", Value: &minISR})
}

// NewClusterID makes a cluster id as Kafka does: a random (version 4) uuid whose text doesn't begin
// with a dash, so that it can be given on a command line.
func NewClusterID(rng *rand.Rand) string {
	for {
		if s := uuid.Format(uuid.New(rng.Uint64)); s[0] != '-' {
			return s
		}
	}
}
