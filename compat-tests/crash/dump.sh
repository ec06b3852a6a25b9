#!/usr/bin/env bash
# dump.sh: a mixed workload on an Ottla of its own; then kafka-dump-log --deep-iteration of Kafka 4.4.0 reads every file that Ottla wrote, once
# after kill -9 (data files), once after a restart and an orderly stop (indexes and snapshots too). Fails on any complaint.
. "$(dirname "${BASH_SOURCE[0]}")/node.sh"
finish() { end_ottla KILL; [ -n "${KEEP:-}" ] || rm -rf "$work"; }
trap finish EXIT
kafka_jars
options=(-o log.segment.bytes=1048576 -o offsets.topic.num.partitions=4 -o log.index.interval.bytes=1024)
# dump WHAT OPTION... < FILES: dumps and looks for complaints
dump() {
	local what=$1 files out status=0; shift
	files=$(paste -sd, -)
	[ -n "$files" ] || { echo "no $what files"; return 1; }
	out=$work/dump-${what// /-}
	HEAP=-Xmx512m TOOL_LOG=error kafka kafka-dump-log "$@" --files "$files" > "$out" 2>&1 || { status=1; echo "$what: exit code $?"; }
	# The tool finds that each segment but the first isn't consecutive to offset -1; so it does in Kafka's own. Mismatches, unsorted entries and invalid batches are told at the end or inline, with exit code 0.
	if grep -nEi 'exception|mismatch|out of order|not valid|isvalid: false|is followed by|invalid bytes|corrupt|error|larger than|could not' "$out" | grep -vE 'key-[0-9]+|-1 is followed by' | head -5 | grep .; then status=1; fi
	echo "$what: $(tr ',' '\n' <<< "$files" | wc -l) files, $(grep -c '^baseOffset' "$out" || true) batches, $(grep -c '^| offset' "$out" || true) records"
	return $status
}
files() { find "$work/data" -name "$1" -size +0 -not -path '*/__cluster_metadata*' "${@:2}" | sort; }
status=0
start_ottla "${options[@]}"
(cd "$HERE/.." && go run ./crash/workload "$BOOTSTRAP")
end_ottla KILL
files '*.log' -not -path '*/__consumer_offsets-*' | dump 'logs after kill' --deep-iteration --print-data-log || status=1
files '*.log' -path '*/__consumer_offsets-*' | dump 'offsets after kill' --deep-iteration --offsets-decoder || status=1
start_ottla "${options[@]}"
end_ottla TERM
files '*.log' -not -path '*/__consumer_offsets-*' | dump 'logs after stop' --deep-iteration --print-data-log || status=1
files '*.log' -path '*/__consumer_offsets-*' | dump 'offsets after stop' --deep-iteration --offsets-decoder || status=1
files '*.index' | dump 'offset indexes' || status=1
files '*.index' | dump 'offset indexes sanity' --index-sanity-check || status=1
files '*.timeindex' | dump 'time indexes' || status=1
files '*.snapshot' | dump 'producer snapshots' || status=1
no_errors || status=1
[ $status = 0 ] && echo "dump: no complaint" || echo "dump: FAILED"
exit $status
