#!/usr/bin/env bash
# handback.sh: a mixed workload on an Ottla of its own, killed on the way, and transactions put into its files; its partitions' files are put in the
# place of those of the same topics of a stopped Kafka 4.4.0, which keep only their partition.metadata. Kafka must serve the same records to both
# isolation levels, and the same committed offsets, after an orderly stop and after none, and take new records.
. "$(dirname "${BASH_SOURCE[0]}")/node.sh"
finish() { end_ottla KILL; end_kafka KILL; [ -n "${KEEP:-}" ] || rm -rf "$work"; }
trap finish EXIT
kafka_jars
cd "$HERE/.."
go build -o "$work/workload" ./crash/workload
go build -o "$work/digest" ./crash/digest
# Kafka first: its leader epochs must not be older than those of the batches that it gets.
start_kafka "${quick[@]}"
"$work/workload" -create "$KAFKA_BOOTSTRAP"
for _ in 1 2; do end_kafka TERM; start_kafka "${quick[@]}"; done
end_kafka TERM
start_ottla "${quick_options[@]}"
"$work/workload" -create "$BOOTSTRAP"
end_ottla TERM
transact
start_ottla "${quick_options[@]}"
"$work/workload" "$BOOTSTRAP"
end_ottla KILL
start_ottla "${quick_options[@]}"
wait_compacted "$work/data" "${compacted[@]}" transactions-compacted
"$work/digest" "$BOOTSTRAP" > "$work/want"
end_ottla TERM
status=0
# compare WHEN SIGNAL
compare() {
	start_kafka "${quick[@]}"
	if "$work/digest" "$KAFKA_BOOTSTRAP" > "$work/got" && diff "$work/want" "$work/got"; then
		echo "handback: $(grep -vc '^group' "$work/got") partitions and $(grep -c '^group' "$work/got") committed offsets are the same $1"
	else
		echo "handback: they differ $1"; status=1
	fi
	end_kafka "$2"
}
give() { hand "$work/data" "$work/kafka"; hand_checkpoints "$work/data" "$work/kafka"; }
give
compare 'after an orderly stop' TERM
give
rm -f "$work/kafka/.kafka_cleanshutdown"
compare 'after no orderly stop' TERM
start_kafka "${quick[@]}"
"$work/workload" "$KAFKA_BOOTSTRAP" || { echo "handback: no new records can be added"; status=1; }
"$work/digest" "$KAFKA_BOOTSTRAP" > "$work/got"
end_kafka TERM
ends() { grep -vE '^(group|transactions)' "$1" | awk -v times="$2" '{print $1, times * $3}'; }
diff <(ends "$work/want" 2) <(ends "$work/got" 1) || { echo "handback: new records are lost"; status=1; }
# A coordinator that is stopped while it loads says so. The producers of another cluster get ids that the records handed over have
# already: they are told that they are out of order, and take others.
if grep -E ' (ERROR|FATAL) |^\[[^]]*\] ERROR|Exception' "$work/kafka.log" | grep -vE 'Stopped loading records|NotLeaderOrFollowerException|OutOfOrderSequenceException|Error processing append operation' | head -5 | grep .; then echo "handback: Kafka complains"; status=1; fi
no_errors || status=1
exit $status
