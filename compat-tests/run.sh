#!/usr/bin/env bash
# run.sh go|all|NAME…: starts bin/ottla on a free port with a fresh data directory and plays the clients' folders against it.
# With BOOTSTRAP set, that broker is used instead. Ends with a table of the folders' closing lines; fails if any of them failed.
set -uo pipefail
cd "$(dirname "$0")"
root=$(cd .. && pwd)
go_clients=(franz-go sarama kafka-go)
other_clients=(java librdkafka kafka-python aiokafka kafkajs platformatic)
case ${1:-} in
go) names=("${go_clients[@]}") ;;
all) names=("${go_clients[@]}" "${other_clients[@]}" tools suites hostile crash) ;;
'') sed -n 2,3p "$0" >&2; exit 2 ;;
*) names=("$@") ;;
esac
work=$(mktemp -d); pid=
finish() {
	[ -z "$pid" ] || { kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; }
	rm -rf "$work"
}
trap finish EXIT
if [ -z "${BOOTSTRAP:-}" ]; then
	port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])' 2>/dev/null || echo $((20000 + RANDOM % 10000)))
	"$root/bin/ottla" serve -o listeners=PLAINTEXT://127.0.0.1:"$port" -o advertised.listeners=PLAINTEXT://127.0.0.1:"$port" \
		-o log.dirs="$work/data" ${OTTLA_OPTS:-} 2> "$work/ottla.log" &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		(exec 3<> "/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
		kill -0 "$pid" 2>/dev/null || { cat "$work/ottla.log" >&2; exit 1; }
		sleep 0.1
	done
	BOOTSTRAP=127.0.0.1:$port
fi
status=0
for name in "${names[@]}"; do
	[ -x "$name/run.sh" ] || { echo "$name: no such folder"; status=1; continue; }
	"./$name/run.sh" "$BOOTSTRAP" > "$work/$name.out" 2>&1 || { status=1; cat "$work/$name.out"; }
	tail -1 "$work/$name.out" >> "$work/table"
done
if [ -n "$pid" ]; then
	kill -0 "$pid" 2>/dev/null || { echo "ottla is gone:"; status=1; }
	grep -E 'panic|level=ERROR' "$work/ottla.log" && status=1
fi
echo "--- clients"; cat "$work/table"
exit $status
