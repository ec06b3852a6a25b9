// Package cases holds the scripts of the differential tester, one file an API or group of APIs.
//
// Error paths come first; after them each API is played at every version it has ("versions"), so
// that a schema change between two versions can't go unseen.
package cases

import (
	"slices"
	"strings"

	"github.com/ottla/ottla/compat-tests/diff"
)

// list collects the cases of an API.
type list struct {
	api   string
	cases []diff.Case
}

func (l *list) add(name string, run func(*diff.Script)) {
	l.cases = append(l.cases, diff.Case{Name: l.api + "/" + name, Run: run})
}

// alone adds a case that no other may run beside.
func (l *list) alone(name string, run func(*diff.Script)) {
	l.cases = append(l.cases, diff.Case{Name: l.api + "/" + name, Alone: true, Run: run})
}

// All returns every case, ordered by name.
func All() []diff.Case {
	var all []diff.Case
	for _, api := range []func() []diff.Case{
		connection, apiVersions, metadata, describeCluster, createTopicsCases, deleteTopicsCases, createPartitions,
		deleteRecordsCases, describeConfigsCases, incrementalAlterConfigs, listConfigResources, produceRecords, idempotence,
		producers, fetchCases, listOffsetsCases, offsetForLeaderEpoch, findCoordinator, joinGroup, syncHeartbeatLeave,
		groupAdmin, offsetCommit, offsetFetchCases, admin, alterReplicaLogDirs, alterPartitionReassignments,
	} {
		all = append(all, api()...)
	}
	slices.SortFunc(all, func(a, b diff.Case) int { return strings.Compare(a.Name, b.Name) })
	return all
}
