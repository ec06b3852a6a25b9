#!/usr/bin/env bash
# run.sh go|all|NAME…: starts bin/ottla on a free port with a fresh data directory and plays the clients' folders against it.
# With BOOTSTRAP set, that broker is used instead. Ends with a table of the folders' closing lines; fails if any of them failed, or if
# the broker logged an error or is gone.
set -uo pipefail
cd "$(dirname "$0")"
root=$(cd .. && pwd)
go_clients=(franz-go sarama kafka-go)
other_clients=(java librdkafka kafka-python aiokafka kafkajs platformatic)
case ${1:-} in
go) names=("${go_clients[@]}") ;;
all) names=("${go_clients[@]}" "${other_clients[@]}" tools suites hostile crash disk tls rolling cluster-suites cluster-tools) ;;
'') sed -n 2,4p "$0" >&2; exit 2 ;;
*) names=("$@") ;;
esac
work=$(mktemp -d); pid=
stop_broker() { [ -z "$pid" ] || { kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; }; pid=; }
trap 'stop_broker; rm -rf "$work"' EXIT

# start_broker NAME OPTION…: sets pid and bootstrap
start_broker() {
	local name=$1 port i; shift
	for ((port = 20000 + RANDOM % 10000; ; port++)); do (exec 3<> "/dev/tcp/127.0.0.1/$port") 2>/dev/null || break; done
	"$root/bin/ottla" serve -o listeners=PLAINTEXT://127.0.0.1:"$port" -o log.dirs="$work/$name" "$@" 2> "$work/$name.log" &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		grep -q 'msg=ready' "$work/$name.log" && break
		kill -0 "$pid" 2>/dev/null || { cat "$work/$name.log" >&2; exit 1; }
		sleep 0.1
	done
	bootstrap=127.0.0.1:$port
}
# what the upstream suites expect of a broker
suite_options=(-o num.partitions=4 -o group.initial.rebalance.delay.ms=0 -o group.min.session.timeout.ms=100 -o offsets.topic.num.partitions=5)

status=0
clients=()
: > "$work/table"
# play NAME: one folder; its output goes to a file. cluster-NAME is folder NAME with clusters of its own.
play() { "./${1#cluster-}/run.sh" "$([[ $1 = cluster-* ]] && echo cluster || echo "$bootstrap")" > "$work/$1.out" 2>&1; echo $? > "$work/$1.status"; }
# judge NAME: what it said
judge() {
	[ "$(cat "$work/$1.status")" = 0 ] || { status=1; cat "$work/$1.out"; }
	grep -E '^[a-z-]+: [0-9]+ passed, [0-9]+ failed' "$work/$1.out" | tail -1 | sed "s/^[a-z-]*/$1/" >> "$work/table" || echo "$1: no tally" >> "$work/table"
}
# healthy NAME: whether the broker is there and has nothing to complain of
healthy() {
	[ -n "$pid" ] || return 0
	kill -0 "$pid" 2>/dev/null || { echo "ottla is gone:"; tail -20 "$work/$1.log"; status=1; }
	if grep -E 'panic|level=ERROR' "$work/$1.log"; then status=1; fi
}
bootstrap=${BOOTSTRAP:-}
[ -n "$bootstrap" ] || start_broker broker
# The Go clients mostly wait for rebalances: side by side.
for name in "${names[@]}"; do
	if [[ " ${go_clients[*]} " == *" $name "* ]]; then play "$name" & clients+=($!); fi
done
# Without names wait would wait for the broker.
[ ${#clients[@]} = 0 ] || wait "${clients[@]}"
for name in "${names[@]}"; do
	[ -x "${name#cluster-}/run.sh" ] || { echo "$name: no such folder"; status=1; continue; }
	if [[ " ${go_clients[*]} " != *" $name "* ]]; then
		if [ "$name" = suites ] && [ -z "${BOOTSTRAP:-}" ]; then
			healthy broker; stop_broker; start_broker suites "${suite_options[@]}"
			play suites; healthy suites; stop_broker; start_broker broker
		else
			play "$name"
		fi
	fi
	judge "$name"
done
healthy broker
echo "--- clients"; cat "$work/table"
exit $status
