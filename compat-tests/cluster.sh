#!/usr/bin/env bash
# cluster.sh up|down|start I|stop I|kill I|pid I|bootstrap|logs I|check: a cluster of Ottla processes on 127.0.0.1 for the tests.
# "start" does nothing to a node that runs, "stop" sends SIGTERM and waits, "kill" is kill -9, "check" prints what the nodes complained of and fails if there was anything.
#   CLUSTER_DIR         settings, data, logs and pids, of its own for each cluster
#   CLUSTER_PORT        node I's clients connect to PORT+I, controllers are at PORT+20+I (29320)
#   CLUSTER_NODES       how many (3); the first three are controllers too
#   CLUSTER_PROXIED     set: clients are told PORT+60+I (a proxy's), and connect through it to PORT+10+I
#   CLUSTER_PROPERTIES  a file of further settings
#   OTTLA_BIN           the binary (../bin/ottla)
#   KAFKA_LIBS          set: the folder of Kafka's jars, for a cluster of Kafka's to compare with
set -euo pipefail
bin=${OTTLA_BIN:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/bin/ottla}
: "${CLUSTER_DIR:?}"
port=${CLUSTER_PORT:-29320} nodes=${CLUSTER_NODES:-3}
host=127.0.0.1
voters=1@$host:$((port + 21)),2@$host:$((port + 22)),3@$host:$((port + 23))
all=$(seq "$nodes")
# listening I: the port that is asked whether node I is there
listening() { echo $((port + ${CLUSTER_PROXIED:+10} + $1)); }
configure() {
	local i=$1 dir=$CLUSTER_DIR/$1 roles=broker listeners advertised
	listeners=PLAINTEXT://$host:$((port + i)) advertised=PLAINTEXT://$host:$((port + i))
	if [ -n "${CLUSTER_PROXIED:-}" ]; then
		listeners+=,EXTERNAL://$host:$((port + 10 + i)) advertised+=,EXTERNAL://$host:$((port + 60 + i))
	fi
	if [ "$i" -le 3 ]; then roles=broker,controller listeners+=,CONTROLLER://$host:$((port + 20 + i)); fi
	mkdir -p "$dir"
	cat > "$dir/server.properties" <<PROPERTIES
process.roles=$roles
node.id=$i
listeners=$listeners
advertised.listeners=$advertised
controller.listener.names=CONTROLLER
controller.quorum.voters=$voters
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,EXTERNAL:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
broker.rack=rack$i
log.dirs=$dir/data
PROPERTIES
	[ -z "${CLUSTER_PROPERTIES:-}" ] || cat "$CLUSTER_PROPERTIES" >> "$dir/server.properties"
}
launch() {
	local dir=$CLUSTER_DIR/$1 command=("$bin" serve -c) pid
	pid=$(cat "$dir/pid" 2>/dev/null) && ! gone "$pid" && return
	if [ -n "${KAFKA_LIBS:-}" ]; then
		command=(java -Xms128m -Xmx512m -XX:+UseSerialGC -cp "$KAFKA_LIBS/*" kafka.Kafka)
		[ -d "$dir/data" ] || java -cp "$KAFKA_LIBS/*" kafka.tools.StorageTool format -t AAAAAAAAQACAAAAAAAAAAA -c "$dir/server.properties" > "$dir/format.log" 2>&1
	fi
	: > "$dir/start.log"
	setsid nohup "${command[@]}" "$dir/server.properties" >> "$dir/start.log" 2>&1 < /dev/null &
	echo $! > "$dir/pid"
}
gone() { [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
ready() {
	local n dir=$CLUSTER_DIR/$1
	for ((n = 0; n < 1200; n++)); do
		if grep -qE 'msg=ready|Kafka Server started' "$dir/start.log"; then return; fi
		if gone "$(cat "$dir/pid")"; then break; fi
		sleep 0.05
	done
	echo "node $1 doesn't get ready:" >&2; tail -5 "$dir/start.log" >&2
	return 1
}
# end SIGNAL I...: the log of each life is kept in ottla.log
end() {
	local signal=$1 i n pid; shift
	for i; do pid=$(cat "$CLUSTER_DIR/$i/pid" 2>/dev/null) && kill -"$signal" "$pid" 2>/dev/null || true; done
	for i; do
		pid=$(cat "$CLUSTER_DIR/$i/pid" 2>/dev/null) || continue
		for ((n = 0; n < 1200; n++)); do if gone "$pid"; then break; fi; sleep 0.05; done
		gone "$pid" || { echo "node $i doesn't stop" >&2; kill -9 "$pid"; echo "level=ERROR msg=\"didn't stop\"" >> "$CLUSTER_DIR/$i/start.log"; }
		rm "$CLUSTER_DIR/$i/pid"
		cat "$CLUSTER_DIR/$i/start.log" >> "$CLUSTER_DIR/$i/ottla.log"; : > "$CLUSTER_DIR/$i/start.log"
	done
}
bootstrap() { local i; for i in $all; do echo "$host:$(listening "$i")"; done | paste -sd,; }
case ${1:-} in
up)
	for i in $all; do configure "$i"; launch "$i"; done
	for i in $all; do ready "$i"; done
	bootstrap ;;
down) end TERM $all ;;
start) launch "$2"; ready "$2" ;;
stop) end TERM "$2" ;;
kill) end KILL "$2" ;;
pid) cat "$CLUSTER_DIR/$2/pid" ;;
bootstrap) bootstrap ;;
logs) cat "$CLUSTER_DIR/$2/ottla.log" "$CLUSTER_DIR/$2/start.log" 2>/dev/null || true ;;
check)
	status=0
	for i in $all; do
		pid=$(cat "$CLUSTER_DIR/$i/pid" 2>/dev/null) && gone "$pid" && { echo "node $i is gone"; status=1; }
		if "${BASH_SOURCE[0]}" logs "$i" | grep -E 'panic|level=ERROR' | sed "s/^/node $i: /"; then status=1; fi
	done
	exit $status ;;
*) sed -n 2,11p "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
