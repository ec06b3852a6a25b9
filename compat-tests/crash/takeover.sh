#!/usr/bin/env bash
# takeover.sh: a mixed workload on a Kafka 4.4.0 of its own, which is then stopped; its partitions' directories are put in the place of those of
# the same topics of a stopped Ottla, which keep only their partition.metadata (the topic's id is the cluster's). Ottla must serve the same records, after an
# orderly stop (indexes and snapshots are used as they are) and after none (everything is recovered), and take new ones.
. "$(dirname "${BASH_SOURCE[0]}")/node.sh"
kafka_pid=
end_kafka() {
	[ -n "$kafka_pid" ] || return 0
	kill "$1" "$kafka_pid"; wait "$kafka_pid" 2>/dev/null || true
	kafka_pid=
}
finish() { end_ottla KILL; end_kafka -KILL; [ -n "${KEEP:-}" ] || rm -rf "$work"; }
trap finish EXIT
kafka_jars
kafka_port=$((port + 1))
cat > "$work/kafka.properties" <<P
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:$kafka_port,CONTROLLER://127.0.0.1:$((port + 2))
advertised.listeners=PLAINTEXT://127.0.0.1:$kafka_port,CONTROLLER://127.0.0.1:$((port + 2))
controller.quorum.bootstrap.servers=127.0.0.1:$((port + 2))
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=$work/kafka
log.segment.bytes=1048576
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
P
run_class() { java -Xmx512m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$KAFKA_LIBS/*" "$@"; }
run_class kafka.tools.StorageTool format --standalone -t b3R0bGEtdGFrZW92ZXItMQ -c "$work/kafka.properties" > "$work/format.log" 2>&1 ||
	{ cat "$work/format.log" >&2; exit 1; }
java -Xmx512m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$KAFKA_LIBS/*" kafka.Kafka "$work/kafka.properties" > "$work/kafka.log" 2>&1 &
kafka_pid=$!
for ((i = 0; i < 600; i++)); do
	answers "$kafka_port" && break
	kill -0 "$kafka_pid" 2>/dev/null || { tail -5 "$work/kafka.log" >&2; exit 1; }
	sleep 0.1
done
cd "$HERE/.."
go build -o "$work/workload" ./crash/workload
go build -o "$work/digest" ./crash/digest
"$work/workload" "127.0.0.1:$kafka_port"
"$work/digest" "127.0.0.1:$kafka_port" > "$work/want"
end_kafka -TERM
options=(-o log.segment.bytes=1048576 -o offsets.topic.num.partitions=4)
start_ottla "${options[@]}"
"$work/workload" -create "$BOOTSTRAP"
end_ottla TERM
# give: Kafka's files in the place of Ottla's
give() {
	local from to
	for from in "$work"/kafka/*-[0-9]*; do
		to=$work/data/${from##*/}
		case ${from##*/} in __*) continue ;; esac
		[ -f "$to/partition.metadata" ] || { echo "Ottla has no $to" >&2; return 1; }
		find "$to" -mindepth 1 ! -name partition.metadata -delete
		find "$from" -mindepth 1 -type f ! -name partition.metadata -exec cp {} "$to/" \;
	done
}
status=0
# compare WHEN
compare() {
	start_ottla "${options[@]}"
	if "$work/digest" "$BOOTSTRAP" > "$work/got" && diff "$work/want" "$work/got"; then
		echo "takeover: $(wc -l < "$work/got") partitions are the same $1"
	else
		echo "takeover: they differ $1"; status=1
	fi
	end_ottla "$2"
}
give
compare 'after an orderly stop' TERM
give
rm -f "$work/data/.kafka_cleanshutdown"
compare 'after no orderly stop' KILL
compare 'after a recovery that was killed' TERM
start_ottla "${options[@]}"
"$work/workload" "$BOOTSTRAP" || { echo "takeover: no new records can be added"; status=1; }
"$work/digest" "$BOOTSTRAP" > "$work/got"
end_ottla TERM
[ "$(awk '{n += $3} END {print n}' "$work/got")" = "$(awk '{n += 2 * $3} END {print n}' "$work/want")" ] || { echo "takeover: new records are lost"; status=1; }
no_errors || status=1
exit $status
