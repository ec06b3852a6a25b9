#!/usr/bin/env bash
# run.sh [BOOTSTRAP]: restarts the nodes of a cluster of three one after the other, twice around by SIGTERM and once by kill -9, while franz-go,
# librdkafka and the Java client work (main.go says what they do and count). No error may reach them, nothing may be lost, doubled, read again or
# reassigned; what main.go counts apart for franz-go is what it does with Kafka, too. The cluster is its own, the argument isn't used. KAFKA=1 takes one of Kafka's; ROUNDS="stop kill" and CLIENTS="java" change the course.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh" "${1:-none}"
. "$ROOT/compat-tests/python/venv.sh"
. "$ROOT/compat-tests/tools/kafka.sh"
clients=(${CLIENTS:-franz-go librdkafka java})
work=$(mktemp -d)
cluster=$ROOT/compat-tests/cluster.sh libs=$KAFKA_LIBS
unset KAFKA_LIBS
[ -z "${KAFKA:-}" ] || { KAFKA_LIBS=$libs kafka_jars; export KAFKA_LIBS=$libs; }
export CLUSTER_DIR=${CLUSTER_DIR:-$work/cluster} CLUSTER_PROPERTIES=$work/properties
cat > "$work/properties" <<'PROPERTIES'
default.replication.factor=3
min.insync.replicas=2
offsets.topic.replication.factor=3
offsets.topic.num.partitions=6
PROPERTIES
pids=()
finish() {
	local p
	for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
	"$cluster" down > /dev/null 2>&1 || true
	[ -n "${KEEP:-}" ] && cp "$work"/*.err "$KEEP" || true
	rm -rf "$work"
}
trap finish EXIT
say() { echo "$(date +%T) $*"; }
go build -C "$ROOT/compat-tests" -o "$work/rolling" ./rolling
bootstrap=$("$cluster" up)
"$work/rolling" settled "$bootstrap"
"$work/rolling" create "$bootstrap" "${clients[@]/#/rolling-}"
inputs=()
# alone COMMAND...: without the clients' inputs, since whoever holds one keeps that client at work
alone() (
	for fd in "${inputs[@]}"; do exec {fd}>&-; done
	exec "$@"
)
start_client() {
	local name=$1 arguments=("$bootstrap" "rolling-$1" "rolling-$1") command
	case $name in
	franz-go) command=("$work/rolling" work) ;;
	librdkafka) command=("$(venv librdkafka confluent-kafka==2.16.1)" "$HERE/rolling.py") ;;
	java)
		KAFKA_LIBS=$libs kafka_jars
		javac -nowarn -cp "$libs/*" -d "$work/classes" "$HERE/Rolling.java"
		command=(java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx256m -Dorg.slf4j.simpleLogger.defaultLogLevel="${TOOL_LOG:-off}" -cp "$libs/*:$work/classes" Rolling) ;;
	*) echo "no client $name" >&2; exit 1 ;;
	esac
	mkfifo "$work/$name.in"
	alone "${command[@]}" "${arguments[@]}" < "$work/$name.in" > "$work/$name.out" 2> "$work/$name.err" &
	pids+=($!)
	# Kept open: the client works until it is closed.
	exec {fd}> "$work/$name.in"
	inputs+=("$fd")
}
for name in "${clients[@]}"; do start_client "$name"; done
for name in "${clients[@]}"; do
	for ((i = 0; ; i++)); do
		if grep -q '^ready' "$work/$name.out"; then break; fi
		if [ $i = 900 ]; then echo "FAIL $name: isn't ready"; tail -5 "$work/$name.err"; exit 1; fi
		sleep 0.1
	done
done
for round in ${ROUNDS:-stop stop kill}; do
	if [ "$round" = kill ]; then for fd in "${inputs[@]}"; do echo kill >&"$fd"; done; fi
	for node in 1 2 3; do
		coordinates=
		for name in "${clients[@]}"; do
			[ "$("$work/rolling" coordinator "$bootstrap" "rolling-$name")" != "$node" ] || coordinates+=" $name"
		done
		alone "$cluster" "$round" "$node"
		# As long as a machine needs to come back; a node that was killed is missed after its session of 9 s.
		if [ "$round" = kill ]; then sleep 12; else sleep 2; fi
		alone "$cluster" start "$node"
		"$work/rolling" settled "$bootstrap"
		say "$round of node $node done${coordinates:+, it coordinated the groups of$coordinates}"
	done
done
for fd in "${inputs[@]}"; do exec {fd}>&-; done
for ((i = 0; i < ${#clients[@]}; i++)); do wait "${pids[$i]}" || true; done
pids=()
for name in "${clients[@]}"; do
	grep -v '^ready' "$work/$name.out" || true
	grep -qE '^(PASS|FAIL) ' "$work/$name.out" || { echo "FAIL $name: ended early"; tail -5 "$work/$name.err"; }
done
[ -n "${KAFKA:-}" ] || "$cluster" check || echo "FAIL nodes: errors were logged"
cat "$work"/*.out > "$work/all"
echo "rolling: $(grep -c '^PASS ' "$work/all" || true) passed, $((${#clients[@]} - $(grep -c '^PASS ' "$work/all" || true))) failed, 0 skipped"
[ "$(grep -c '^PASS ' "$work/all" || true)" = ${#clients[@]} ]
