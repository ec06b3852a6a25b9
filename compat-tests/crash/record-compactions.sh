#!/usr/bin/env bash
# record-compactions.sh DIR: has a Kafka 4.4.0 of its own compact the topics of ./compactions twice, and leaves in DIR/TOPIC-ROUND what the
# partition was before and after: the goldens of log/testdata/compaction.
dir=$(mkdir -p "${1:?DIR}" && cd "$1" && pwd)
. "$(dirname "${BASH_SOURCE[0]}")/node.sh"
finish() { end_kafka KILL; [ -n "${KEEP:-}" ] || rm -rf "$work"; }
trap finish EXIT
kafka_jars
cd "$HERE/.."
go build -o "$work/compactions" ./crash/compactions
# Not so long ago that the broker would forget producers at its next start.
START=$(($(date +%s) - 3 * 3600))000
export START
# keep TOPIC-ROUND before|after
keep() {
	mkdir -p "$dir/$1/$2"
	find "$work/kafka/${1%-*}-0" -name '*.log' -o -path "*/${1%-*}-0/*.txnindex" -size +0 -o -path "*/${1%-*}-0/*.snapshot" | while read -r f; do cp "$f" "$dir/$1/$2/"; done
}
checkpoint() { awk -v t="$1" '$1 == t && $2 == 0 {print $3}' "$work/kafka/cleaner-offset-checkpoint" 2>/dev/null; }
start_kafka "${quick[@]}"
"$work/compactions" create "$KAFKA_BOOTSTRAP"
for round in 1 2; do
	"$work/compactions" fill $round "$KAFKA_BOOTSTRAP"
	end_kafka TERM
	for topic in $("$work/compactions" topics | cut -d' ' -f1); do
		keep "$topic-$round" before
		echo "cleaned $(checkpoint "$topic" || true)" > "$dir/$topic-$round/facts"
	done
	start_kafka "${quick[@]}"
	now=$(date +%s%3N)
	"$work/compactions" policy compact "$KAFKA_BOOTSTRAP"
	"$work/compactions" topics | while read -r topic retention; do
		active=$(basename "$(find "$work/kafka/$topic-0" -name '*.log' | sort | tail -1)" .log)
		for ((i = 0; i < 600; i++)); do [ "$(checkpoint "$topic")" != $((10#$active)) ] || break; sleep 0.1; done
		[ "$(checkpoint "$topic")" = $((10#$active)) ] || { echo "$topic isn't compacted" >&2; exit 1; }
		keep "$topic-$round" after
		printf 'now %s\nretention %s\nend %s\n' "$now" "$retention" "$((10#$active))" >> "$dir/$topic-$round/facts"
	done
	"$work/compactions" policy delete "$KAFKA_BOOTSTRAP"
done
