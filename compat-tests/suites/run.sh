#!/usr/bin/env bash
# run.sh BOOTSTRAP|cluster [SUITE...]: the client projects' own test suites, run by the scripts in ../shared/suites beside this repository
# (SUITES names another folder). Without SUITE: franz-kgo, kafka-python and librdkafka.
# With "cluster" each suite gets a cluster of its own, by ../cluster.sh: three nodes with three replicas, for sarama's five nodes behind a proxy that its
# tests break. Without SUITE: franz-kgo, librdkafka and sarama.
# What the broker doesn't serve yet is skipped. The suites expect these settings (OTTLA_OPTS of ../run.sh):
#   -o num.partitions=4 -o group.initial.rebalance.delay.ms=0 -o group.min.session.timeout.ms=100 -o offsets.topic.num.partitions=5
# Tests that fail are listed in expected-fail as SUITE/TEST, each with its reason in FINDINGS.md.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
suites=${SUITES:-$ROOT/../shared/suites}
shift
names=("$@")
mode=one
[ "$BOOTSTRAP" != cluster ] || mode=cluster
if [ $# = 0 ]; then
	names=(franz-kgo kafka-python librdkafka)
	[ $mode = one ] || names=(franz-kgo librdkafka sarama)
fi
if [ ! -x "$suites/franz-kgo.sh" ]; then
	echo "suites: 0 passed, 0 failed, 0 skipped (no suites beside the repository)"
	exit 0
fi
# later: what needs APIs that aren't served: transactions, the consumer group protocol of KIP-848, share groups, changes of ACLs, quotas,
# SCRAM users, delegation tokens, reassignment and moves between directories.
suite() {
	case $1 in
	franz-kgo) RF=$replicas SKIP='Txn|848|Share' "$suites/franz-kgo.sh" "$BOOTSTRAP" ;;
	kafka-python) K='not transaction and not acl and not scram and not quota and not share and not 848 and not alter_partition_reassignments and not alter_replica_log_dirs' "$suites/kafka-python.sh" "$BOOTSTRAP" ;;
	librdkafka) SKIPT=$(sed 's/#.*//' "$HERE/librdkafka.later" | tr '\n' ' ') TT=${TT:-1500} "$suites/librdkafka.sh" "$BOOTSTRAP" ;;
	sarama) SARAMA_PORT=$port BROKERCTL=$cluster SKIP='Txn|Transaction|InitProducerId3|AdminQuotas' "$suites/sarama.sh" "$BOOTSTRAP" ;;
	*) echo "no suite $1" ;;
	esac
}
cluster=$ROOT/compat-tests/cluster.sh replicas=1 port=${CLUSTER_PORT:-29320}
# start_cluster SUITE: with the settings that the suite's authors test with
start_cluster() {
	export CLUSTER_DIR=$out.cluster-$1 CLUSTER_PROPERTIES=$out.properties CLUSTER_NODES=3 CLUSTER_PROXIED=
	replicas=3
	if [ "$1" = sarama ]; then
		CLUSTER_NODES=5 CLUSTER_PROXIED=1
		cat > "$out.properties" <<-'PROPERTIES'
		default.replication.factor=2
		offsets.topic.replication.factor=2
		offsets.topic.num.partitions=10
		replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector
		auto.create.topics.enable=false
		group.initial.rebalance.delay.ms=0
		PROPERTIES
	else
		cat > "$out.properties" <<-'PROPERTIES'
		num.partitions=4
		default.replication.factor=3
		min.insync.replicas=1
		group.initial.rebalance.delay.ms=0
		group.min.session.timeout.ms=100
		offsets.topic.num.partitions=5
		replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector
		PROPERTIES
	fi
	BOOTSTRAP=$("$cluster" up)
}
# stop_cluster: what the nodes complained of counts
stop_cluster() {
	"$cluster" check || { echo "the nodes of $CLUSTER_DIR logged errors"; status=1; }
	"$cluster" down
	[ -n "${KEEP:-}" ] || rm -rf "$CLUSTER_DIR"
}
out=$(mktemp); trap '[ -z "${CLUSTER_DIR:-}" ] || "$cluster" down; [ -n "${KEEP:-}" ] || rm -rf "$out" "$out".*' EXIT
export LOGS=${LOGS:-$CACHE/suites-logs}
mkdir -p "$LOGS"
status=0 passed=0 failed=0 skipped=0
for name in "${names[@]}"; do
	[ $mode = one ] || start_cluster "$name"
	suite "$name" > "$out" 2>&1 || true
	[ $mode = one ] || stop_cluster
	tally=$(grep -E "^$name: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped" "$out" | tail -1) || { tail -5 "$out"; echo "$name: didn't run"; status=1; continue; }
	while read -r test; do
		if grep -qxF "$name/$test" "$HERE/expected-fail"; then echo "XFAIL $name/$test"; else echo "FAIL $name/$test"; status=1; fi
	done < "$LOGS/$name.failed"
	grep '^seconds: ' "$out" || true
	echo "$tally"
	read -r _ p _ f _ s _ <<< "$tally"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "suites: $passed passed, $failed failed, $skipped skipped"
exit $status
