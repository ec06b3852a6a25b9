#!/usr/bin/env bash
# demo.sh: a real file of 100,000 lines and more through Kafka's own console tools. Starts bin/ottla on a free port with a fresh data directory,
# puts a word list into six partitions, reads it back with two consumers of one group, kills the broker with -9, starts it again and goes
# on from the committed offsets. Says what it checks and stops at the first thing that is wrong.
# BOOTSTRAP=HOST:PORT uses that broker instead and leaves out the kill; OTTLA_BIN names another binary.
set -euo pipefail
cd "$(dirname "$0")"
HERE=$PWD ROOT=$(cd .. && pwd)
. tools/kafka.sh
OTTLA_BIN=${OTTLA_BIN:-$ROOT/bin/ottla}
PARTITIONS=6 MORE=1000
work=$(mktemp -d) broker='' consumers=()
finish() {
	local pid
	for pid in "${consumers[@]}" $broker; do kill "$pid" 2> /dev/null || true; done
	wait 2> /dev/null || true
	rm -rf "$work"
}
trap finish EXIT
say() { printf '%s  %s\n' "$(date +%T)" "$*"; }
die() { say "WRONG: $*"; exit 1; }
tool() { local name=$1; shift; TOOL_LOG=error kafka "$name" --bootstrap-server "$BOOTSTRAP" "$@"; }

start_ottla() {
	"$OTTLA_BIN" serve -o listeners="PLAINTEXT://$BOOTSTRAP" -o advertised.listeners="PLAINTEXT://$BOOTSTRAP" -o log.dirs="$work/data" 2>> "$work/ottla.log" &
	broker=$!
	for ((i = 0; i < 100; i++)); do
		if (exec 3<> "/dev/tcp/${BOOTSTRAP%:*}/${BOOTSTRAP#*:}") 2> /dev/null; then return; fi
		kill -0 "$broker" 2> /dev/null || break
		sleep 0.1
	done
	tail "$work/ottla.log"; die "ottla doesn't start"
}
# words: a word list of more than 100,000 lines, or the lines of Go's own source where there is none
words() {
	if [ ! -r /usr/share/dict/words ] && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends wamerican; } > "$work/apt.log" 2>&1 || true
	fi
	local list
	for list in /usr/share/dict/words /usr/share/dict/*; do
		if [ -r "$list" ] && [ "$(wc -l < "$list")" -ge 100000 ]; then cat "$list"; return; fi
	done
	find "$(go env GOROOT)/src" -name '*.go' -print0 | LC_ALL=C sort -z | xargs -0 cat | tr -d '\r\t' | LC_ALL=C sed 's/[^ -~]//g; s/^ *//' | grep . | head -120000 || true
}
# keyed FIRST: lines "first two letters, tab, number and line"; numbers go up from FIRST, so a key's order can be seen
keyed() { LC_ALL=C.UTF-8 sed -E 's/^(..?)(.*)$/\1\t\1\2/' | awk -F '\t' -v n="$1" '{ printf "%s\t%d %s\n", $1, n++, $2 }'; }
produce() { tool kafka-console-producer --topic "$topic" --reader-property parse.key=true < "$1"; }
# consume OUT OPTION...: a console consumer of the group, in this shell's place; lines are "key, tab, value"
consume() {
	local out=$1; shift
	LAUNCH=exec tool kafka-console-consumer --topic "$topic" --formatter-property print.key=true "$@" > "$out" 2> "$out.err"
}
same() { # same WHAT SENT RECEIVED...: the same lines as often, in whatever order
	local what=$1 sent=$2; shift 2
	LC_ALL=C sort "$sent" > "$work/a"; cat "$@" | LC_ALL=C sort > "$work/b"
	cmp -s "$work/a" "$work/b" || { diff "$work/a" "$work/b" | head -5; die "$what: $(wc -l < "$work/b") lines came back, $(wc -l < "$work/a") were sent"; }
	say "$what: $(wc -l < "$work/b") lines, each exactly once"
}
ordered() { # ordered FILE...: in each file a key's numbers go up
	awk -F '[\t ]' 'FNR == 1 { delete last } { k = $0; sub(/\t.*/, "", k); v = $0; sub(/^[^\t]*\t/, "", v); n = v + 0; if (k in last && n <= last[k]) { print k, last[k], n; exit 1 } last[k] = n }' "$@" ||
		die "a key's lines came in another order"
	say "order kept inside each of $(cut -f1 "$@" | LC_ALL=C sort -u | wc -l) keys"
}
until_lines() { # until_lines N FILE...
	local n=$1 i; shift
	for ((i = 0; i < 600; i++)); do
		if [ "$(cat "$@" | wc -l)" -ge "$n" ]; then return; fi
		sleep 0.2
	done
	die "only $(cat "$@" | wc -l) of $n lines came"
}
ends() { tool kafka-get-offsets --topic "$topic" | awk -F : '{ n += $3 } END { print n }'; }

kafka_jars
kill_it=
if [ -z "${BOOTSTRAP:-}" ]; then
	kill_it=1
	[ -x "$OTTLA_BIN" ] || { echo "no $OTTLA_BIN: make build" >&2; exit 1; }
	BOOTSTRAP=127.0.0.1:$((20000 + RANDOM % 10000))
	start_ottla
	say "ottla runs at $BOOTSTRAP"
fi
topic=demo-$$-$(date +%s) group=$topic
words > "$work/words"
keyed 1 < "$work/words" > "$work/first"
lines=$(wc -l < "$work/first")
[ "$lines" -ge 100000 ] || die "only $lines lines to send"
head -$MORE "$work/words" | keyed $((lines + 1)) > "$work/more"
tool kafka-topics --create --topic "$topic" --partitions $PARTITIONS > /dev/null
say "topic with $PARTITIONS partitions; $lines lines, $(cut -f1 "$work/first" | LC_ALL=C sort -u | wc -l) keys"

for i in 1 2; do consume "$work/got$i" --group "$group" --from-beginning & consumers+=($!); done
for ((i = 0; ; i++)); do
	shares=$(tool kafka-consumer-groups --describe --group "$group" --members 2> /dev/null | awk -v g="$group" '$1 == g { print $NF }' | sort | xargs)
	if [ "$shares" = "3 3" ]; then break; fi
	[ $i -lt 30 ] || die "the two consumers never had three partitions each, but: $shares"
	sleep 0.3
done
say "two consumers of one group, three partitions each"
produce "$work/first"
say "produced"
until_lines "$lines" "$work/got1" "$work/got2"
kill "${consumers[@]}"; wait "${consumers[@]}" || true
consumers=()
sed -i '/^Processed a total/d' "$work/got1" "$work/got2"
[ -s "$work/got1" ] && [ -s "$work/got2" ] || die "one consumer got nothing"
same "read back by two consumers ($(wc -l < "$work/got1") and $(wc -l < "$work/got2"))" "$work/first" "$work/got1" "$work/got2"
ordered "$work/got1" "$work/got2"
[ "$(ends)" = "$lines" ] || die "the partitions end at $(ends) in sum, not at $lines"
lag=$(tool kafka-consumer-groups --describe --group "$group" 2> /dev/null | awk -v g="$group" '$1 == g { n += $6; p++ } END { print p, n }')
[ "$lag" = "$PARTITIONS 0" ] || die "partitions and lag of the group: $lag"
say "the group has committed all of it"

if [ -n "$kill_it" ]; then
	kill -9 "$broker"; wait "$broker" 2> /dev/null || true
	start_ottla
	say "ottla was killed with -9 and runs again"
fi
produce "$work/more"
say "produced $MORE more"
consume "$work/got3" --group "$group" --timeout-ms 15000 & consumers=($!)
consume "$work/got4" --from-beginning --timeout-ms 15000 & consumers+=($!)
wait "${consumers[@]}" || true
consumers=()
sed -i '/^Processed a total/d' "$work/got3" "$work/got4"
same "the group goes on from its committed offsets" "$work/more" "$work/got3"
ordered "$work/got3"
cat "$work/first" "$work/more" > "$work/all"
same "and from the beginning" "$work/all" "$work/got4"
ordered "$work/got4"
say "all is well"
