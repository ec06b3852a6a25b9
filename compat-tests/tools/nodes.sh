# Sourced by run.sh: starts three nodes, of Ottla or with KAFKA set of Kafka, plays cases/nodes.sh against them and says how it went. Every case must pass.
P=t$(date +%s)$$
WORK=$(mktemp -d)
cluster=$ROOT/compat-tests/cluster.sh
export CLUSTER_DIR=$WORK/cluster CLUSTER_PROPERTIES=$WORK/properties
trap '"$cluster" down > /dev/null; rm -rf "$WORK"' EXIT
printf '%s\n' default.replication.factor=3 min.insync.replicas=2 offsets.topic.replication.factor=3 offsets.topic.num.partitions=6 \
	group.initial.rebalance.delay.ms=0 auto.leader.rebalance.enable=false > "$WORK/properties"
[ -z "${KAFKA:-}" ] || export KAFKA_LIBS
[ -n "${KAFKA:-}" ] || export -n KAFKA_LIBS
go build -C "$ROOT/compat-tests" -o "$WORK/rolling" ./rolling
BOOTSTRAP=$("$cluster" up)
"$WORK/rolling" settled "$BOOTSTRAP"
( set +e; . "$HERE/cases/nodes.sh" ) > "$WORK/all"
[ -n "${KAFKA:-}" ] || "$cluster" check >> "$WORK/all" || echo "FAIL nodes-logs: errors were logged" >> "$WORK/all"
grep -v '^PASS ' "$WORK/all" || true
echo "tools: $(grep -c '^PASS ' "$WORK/all" || true) passed, $(grep -c '^FAIL ' "$WORK/all" || true) failed, 0 skipped"
! grep -q '^FAIL ' "$WORK/all"
