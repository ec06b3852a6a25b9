#!/usr/bin/env bash
# takeover.sh: a mixed workload, with transactions, on a Kafka 4.4.0 of its own, which is then stopped; its partitions' files are put in the place of
# those of the same topics of a stopped Ottla, which keep only their partition.metadata (the topic's id is the cluster's). Ottla must serve the same
# records to both isolation levels, and the same committed offsets, after an orderly stop (indexes and snapshots are used as they are) and after none
# (everything is recovered), and take new records.
. "$(dirname "${BASH_SOURCE[0]}")/node.sh"
finish() { end_ottla KILL; end_kafka KILL; [ -n "${KEEP:-}" ] || rm -rf "$work"; }
trap finish EXIT
kafka_jars
cd "$HERE/.."
go build -o "$work/workload" ./crash/workload
go build -o "$work/digest" ./crash/digest
start_kafka "${quick[@]}"
"$work/workload" -create "$KAFKA_BOOTSTRAP"
"$work/workload" -transactions "$KAFKA_BOOTSTRAP"
wait_compacted "$work/kafka" "${compacted[@]}" transactions-compacted
end_kafka TERM
start_ottla "${quick_options[@]}"
"$work/workload" -create "$BOOTSTRAP"
end_ottla TERM
# What is compared is what Kafka holds when it was stopped: it may have deleted more before.
start_kafka "${quick[@]}" log.cleaner.enable=false log.retention.check.interval.ms=3600000
"$work/digest" "$KAFKA_BOOTSTRAP" > "$work/want"
end_kafka TERM
status=0
# compare WHEN SIGNAL: with nothing compacted or deleted meanwhile, for which Kafka may not have had the time.
compare() {
	start_ottla "${quick_options[@]}" -o log.cleaner.enable=false -o log.retention.check.interval.ms=3600000
	if "$work/digest" "$BOOTSTRAP" > "$work/got" && diff "$work/want" "$work/got"; then
		echo "takeover: $(grep -vc '^group' "$work/got") partitions and $(grep -c '^group' "$work/got") committed offsets are the same $1"
	else
		echo "takeover: they differ $1"; status=1
	fi
	end_ottla "$2"
}
give() { hand "$work/kafka" "$work/data"; hand_checkpoints "$work/kafka" "$work/data"; }
give
compare 'after an orderly stop' TERM
give
rm -f "$work/data/.kafka_cleanshutdown"
compare 'after no orderly stop' KILL
compare 'after a recovery that was killed' TERM
start_ottla "${quick_options[@]}"
"$work/workload" "$BOOTSTRAP" || { echo "takeover: no new records can be added"; status=1; }
"$work/digest" "$BOOTSTRAP" > "$work/got"
end_ottla TERM
ends() { grep -vE '^(group|transactions)' "$1" | awk -v times="$2" '{print $1, times * $3}'; }
diff <(ends "$work/want" 2) <(ends "$work/got" 1) || { echo "takeover: new records are lost"; status=1; }
no_errors || status=1
exit $status
