#!/usr/bin/env bash
# run.sh BOOTSTRAP|cluster [AREA...]: plays the stock tools of Kafka 4.4.0 and compares exit codes and output with golden/, recorded from Kafka itself
# (RECORD=1 ./run.sh KAFKA records again). The areas are the files of cases/. With "cluster" it starts three nodes and plays cases/nodes.sh
# (KAFKA=1 RECORD=1 ./run.sh cluster records that).
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$HERE/kafka.sh"
. "$HERE/case.sh"
kafka_jars
shift
if [ "$BOOTSTRAP" = cluster ]; then
	. "$HERE/nodes.sh"
	exit
fi
areas=("$@")
[ $# -gt 0 ] || areas=(topics records groups configs cluster load)
P=t$(date +%s)$$
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
area() { ( set +e; . "$HERE/cases/$1.sh" ) > "$WORK/$1.cases" 2> "$WORK/$1.err"; cat "$WORK/$1.err" >&2; }
# Two at a time: a JVM starts on one core while the other's tool talks.
for name in "${areas[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n || true; done
	area "$name" &
done
wait
cat "$WORK"/*.cases > "$WORK/all"
[ $# -eq 0 ] || { cat "$WORK/all"; ! grep -q '^FAIL ' "$WORK/all"; exit; }
judge tools "$WORK/all"
