#!/usr/bin/env bash
# dump.sh: a mixed workload on an Ottla of its own, with compaction, retention, deleted records and transactions; then kafka-dump-log
# --deep-iteration of Kafka 4.4.0 reads every file that Ottla wrote, after each of two kill -9 (data files), and after a restart and an orderly stop
# (indexes and snapshots too). Fails on any complaint.
. "$(dirname "${BASH_SOURCE[0]}")/node.sh"
finish() { end_ottla KILL; [ -n "${KEEP:-}" ] || rm -rf "$work"; }
trap finish EXIT
kafka_jars
# dump WHAT OPTION... < FILES: dumps and looks for complaints. With GAPS, gaps between offsets are none: compaction leaves them.
dump() {
	local what=$1 files out status=0; shift
	files=$(paste -sd, -)
	[ -n "$files" ] || { echo "no $what files"; return 1; }
	out=$work/dump-${what// /-}
	HEAP=-Xmx512m TOOL_LOG=error kafka kafka-dump-log "$@" --files "$files" > "$out" 2>&1 || { status=1; echo "$what: exit code $?"; }
	# The tool finds that each segment but the first isn't consecutive to offset -1; so it does in Kafka's own. Mismatches, unsorted entries and invalid batches are told at the end or inline, with exit code 0.
	# A batch that compaction has emptied keeps its largest timestamp, as in Kafka; the tool looks for it among the records and says -1.
	if grep -nEi "exception|mismatch|log timestamp: [0-9]|out of order|not valid|isvalid: false|${GAPS:-is followed by}|invalid bytes|corrupt|error|larger than|could not" "$out" | grep -vE 'key-[0-9]+|-1 is followed by|Found timestamp mismatch' | head -5 | grep .; then status=1; fi
	echo "$what: $(tr ',' '\n' <<< "$files" | wc -l) files, $(grep -c '^baseOffset' "$out" || true) batches, $(grep -c '^| offset' "$out" || true) records"
	return $status
}
files() { find "$work/data" -name "$1" -size +0 -not -path '*/__cluster_metadata*' "${@:2}" | sort; }
status=0
logs() { # WHEN
	files '*.log' -not -path '*/__consumer_offsets-*' -not -path '*compacted*' | dump "logs $1" --deep-iteration --print-data-log || status=1
	files '*.log' -path '*compacted*' | GAPS=corrupt dump "compacted logs $1" --deep-iteration --print-data-log || status=1
	files '*.log' -path '*/__consumer_offsets-*' | GAPS=corrupt dump "offsets $1" --deep-iteration --offsets-decoder || status=1
}
cd "$HERE/.."
go build -o "$work/workload" ./crash/workload
start_ottla "${quick_options[@]}"
"$work/workload" -create "$BOOTSTRAP"
end_ottla TERM
transact
start_ottla "${quick_options[@]}"
"$work/workload" "$BOOTSTRAP"
end_ottla KILL
logs 'after kill'
start_ottla "${quick_options[@]}"
"$work/workload" "$BOOTSTRAP" & writing=$!
# Killed while it writes, compacts and deletes.
sleep 1
end_ottla KILL
kill "$writing" 2>/dev/null || true; wait "$writing" 2>/dev/null || true
logs 'after kill under load'
start_ottla "${quick_options[@]}"
wait_compacted "$work/data" "${compacted[@]}" transactions-compacted
# Until replaced files are gone.
for ((i = 0; i < 600; i++)); do
	find "$work/data" -name '*.deleted' | grep -q . || break
	sleep 0.1
done
end_ottla TERM
logs 'after stop'
files '*.index' | dump 'offset indexes' || status=1
files '*.index' | dump 'offset indexes sanity' --index-sanity-check || status=1
files '*.timeindex' | dump 'time indexes' || status=1
files '*.txnindex' | dump 'transaction indexes' || status=1
files '*.snapshot' | dump 'producer snapshots' || status=1
# What a stop leaves is of these kinds only.
if find "$work/data" -mindepth 2 -type f -not -path '*/__cluster_metadata*' | grep -vE '\.(log|index|timeindex|txnindex|snapshot)$|/(partition.metadata|leader-epoch-checkpoint)$'; then
	echo "dump: files of another kind"; status=1
fi
no_errors || status=1
[ $status = 0 ] && echo "dump: no complaint" || echo "dump: FAILED"
exit $status
