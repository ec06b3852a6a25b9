#!/usr/bin/env bash
# run.sh BOOTSTRAP [SUITE...]: the client projects' own test suites, run by the scripts in ../shared/suites beside this repository (SUITES names
# another folder). Without SUITE: franz-kgo, kafka-python and librdkafka; sarama's needs five nodes behind a proxy and runs when it is named.
# What the broker doesn't serve yet is skipped. The suites expect these settings (OTTLA_OPTS of ../run.sh):
#   -o num.partitions=4 -o group.initial.rebalance.delay.ms=0 -o group.min.session.timeout.ms=100 -o offsets.topic.num.partitions=5
# Tests that fail are listed in expected-fail as SUITE/TEST, each with its reason in FINDINGS.md.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
suites=${SUITES:-$ROOT/../shared/suites}
shift
names=("$@")
[ $# -gt 0 ] || names=(franz-kgo kafka-python librdkafka)
if [ ! -x "$suites/franz-kgo.sh" ]; then
	echo "suites: 0 passed, 0 failed, 0 skipped (no suites beside the repository)"
	exit 0
fi
# later: what needs APIs that aren't served: transactions, the consumer group protocol of KIP-848, share groups, changes of ACLs, quotas,
# SCRAM users, delegation tokens, reassignment and moves between directories.
suite() {
	case $1 in
	franz-kgo) SKIP='Txn|848|Share' "$suites/franz-kgo.sh" "$BOOTSTRAP" ;;
	kafka-python) K='not transaction and not acl and not scram and not quota and not share and not 848 and not alter_partition_reassignments and not alter_replica_log_dirs' "$suites/kafka-python.sh" "$BOOTSTRAP" ;;
	librdkafka) SKIPT=$(sed 's/#.*//' "$HERE/librdkafka.later" | tr '\n' ' ') TT=${TT:-1500} "$suites/librdkafka.sh" "$BOOTSTRAP" ;;
	sarama) SKIP='Txn|Transaction' "$suites/sarama.sh" "$BOOTSTRAP" ;;
	*) echo "no suite $1" ;;
	esac
}
out=$(mktemp); trap 'rm -f "$out" "$out".*' EXIT
export LOGS=${LOGS:-$CACHE/suites-logs}
mkdir -p "$LOGS"
status=0 passed=0 failed=0 skipped=0
for name in "${names[@]}"; do
	suite "$name" > "$out" 2>&1 || true
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
