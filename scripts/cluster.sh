#!/usr/bin/env bash
# cluster.sh DIR: runs three nodes on localhost, each broker and controller, until it is interrupted. Clients connect
# to localhost:9092, 9093 and 9094; settings, data and logs are in DIR/1, 2 and 3, and are found again by the next run.
set -euo pipefail
dir=${1:-ottla-cluster}
bin=${OTTLA_BIN:-$(cd "$(dirname "$0")/.." && pwd)/bin/ottla}
base=${PORT:-9092}
voters=
for i in 1 2 3; do voters+=${voters:+,}$i@localhost:$((base + 10 + i)); done
pids=()
stop() {
	trap - INT TERM EXIT
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
	wait
}
trap stop INT TERM EXIT
bootstrap=
for i in 1 2 3; do
	mkdir -p "$dir/$i"
	port=$((base + i - 1))
	bootstrap+=${bootstrap:+,}localhost:$port
	cat > "$dir/$i/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=$i
listeners=PLAINTEXT://localhost:$port,CONTROLLER://localhost:$((base + 10 + i))
controller.listener.names=CONTROLLER
controller.quorum.voters=$voters
log.dirs=$dir/$i/data
default.replication.factor=3
min.insync.replicas=2
PROPERTIES
	"$bin" serve -c "$dir/$i/server.properties" 2> "$dir/$i/ottla.log" &
	pids+=($!)
done
for i in 1 2 3; do
	for ((n = 0; ; n++)); do
		if grep -q 'msg=ready' "$dir/$i/ottla.log"; then break; fi
		if ! kill -0 "${pids[$((i - 1))]}" 2>/dev/null || [ $n = 600 ]; then
			echo "node $i doesn't get ready:" >&2
			tail -5 "$dir/$i/ottla.log" >&2
			exit 1
		fi
		sleep 0.05
	done
done
echo "three nodes are ready: --bootstrap-server $bootstrap (logs in $dir/*/ottla.log; interrupt to stop)"
wait
