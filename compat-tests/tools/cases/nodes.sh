# What the tools say of three nodes, and while one of them is away. Played by "run.sh cluster"; the nodes are stopped and started here.
T=$P-nodes
settle() { "$WORK/rolling" settled "$BOOTSTRAP" || echo "FAIL nodes-settle: see above"; }
# until_tool TEXT TOOL ARGUMENT...: waits until the tool's output has the text
until_tool() {
	local text=$1 i; shift
	for ((i = 0; i < 30; i++)); do if tool "$@" 2>&1 | grep -q "$text"; then return; fi; sleep 0.2; done
	echo "FAIL nodes-wait: no '$text' in: $*"
}
# without NODE COMMAND...: while the node is away, and no leader is left on it
without() {
	local node=$1; shift
	"$cluster" stop "$node"
	"$@"
	"$cluster" start "$node"
	settle
}
t nodes-create 0 kafka-topics --create --topic "$T" --replica-assignment 1:2:3,2:3:1,3:1:2
SORT=1 t nodes-describe 0 kafka-topics --describe --topic "$T"
t nodes-create-placed 0 kafka-topics --create --topic "$T-placed" --partitions 6 --replication-factor 3
t nodes-create-four-replicas 1 kafka-topics --create --topic "$T-four" --partitions 1 --replication-factor 4
t nodes-create-same-twice 1 kafka-topics --create --topic "$T-twice" --replica-assignment 1:1:2
t nodes-create-not-there 1 kafka-topics --create --topic "$T-nine" --replica-assignment 1:9
t nodes-create-uneven 1 kafka-topics --create --topic "$T-uneven" --replica-assignment 1:2,3
KEEP='^HOST' SORT=1 t nodes-broker-api-versions 0 kafka-broker-api-versions
NUMBERS=1 SORT=1 t nodes-list-endpoints 0 kafka-cluster list-endpoints
t nodes-unregister-unknown 1 kafka-cluster unregister --id 9
# Kafka's voters from a fixed list have no directories.
KEEP='^(ClusterId|Leader|High|Max|CurrentObservers)' NUMBERS=1 t nodes-quorum-status 0 kafka-metadata-quorum describe --status
SORT=1 NUMBERS=1 KEEP='Leader|Follower|Observer|NodeId' t nodes-quorum-replication 0 kafka-metadata-quorum describe --replication
KEEP="^Feature: (metadata\.version|group\.version|eligible)" NUMBERS=1 t nodes-features 0 kafka-features describe
NUMBERS=1 t nodes-log-dirs 0 kafka-log-dirs --describe --broker-list 1,2,3 --topic-list "$T"
t nodes-under-replicated-none 0 kafka-topics --describe --under-replicated-partitions

# leaders
away() {
	SORT=1 t nodes-away-under-replicated 0 kafka-topics --describe --under-replicated-partitions --topic "$T"
	SORT=1 t nodes-away-at-min-isr 0 kafka-topics --describe --at-min-isr-partitions --topic "$T"
	t nodes-away-under-min-isr 0 kafka-topics --describe --under-min-isr-partitions --topic "$T"
	t nodes-away-unavailable 0 kafka-topics --describe --unavailable-partitions --topic "$T"
	t nodes-away-elect 1 kafka-leader-election --election-type preferred --topic "$T" --partition 2
	NUMBERS=1 t nodes-away-log-dirs 1 kafka-log-dirs --describe --broker-list 3 --topic-list "$T"
	t nodes-away-create-three 1 kafka-topics --create --topic "$T-away" --replica-assignment 1:9:2
}
without 3 away
t nodes-back-under-replicated 0 kafka-topics --describe --under-replicated-partitions --topic "$T"
SORT=1 t nodes-back-describe 0 kafka-topics --describe --topic "$T"
t nodes-elect 0 kafka-leader-election --election-type preferred --topic "$T" --partition 2
t nodes-elect-again 0 kafka-leader-election --election-type preferred --topic "$T" --partition 2
t nodes-elect-unclean 0 kafka-leader-election --election-type unclean --topic "$T" --partition 1
SORT=1 t nodes-elected-describe 0 kafka-topics --describe --topic "$T"

# reassignment: 40 MB at 100 KB/s are not there before the tools, slow on a busy machine, have looked
M=$P-moved
t nodes-move-create 0 kafka-topics --create --topic "$M" --config min.insync.replicas=1 --replica-assignment 1:2,2:3
tool kafka-producer-perf-test --topic "$M" --num-records 20000 --record-size 2000 --throughput -1 > /dev/null
printf '{"version":1,"topics":[{"topic":"%s"}]}' "$M" > "$WORK/topics.json"
KEEP='assignment' SORT=1 t nodes-move-generate 0 kafka-reassign-partitions --topics-to-move-json-file "$WORK/topics.json" --broker-list 1,2,3 --generate
printf '{"version":1,"partitions":[{"topic":"%s","partition":0,"replicas":[3,2]},{"topic":"%s","partition":1,"replicas":[1,3]}]}' "$M" "$M" > "$WORK/move.json"
printf '{"version":1,"partitions":[{"topic":"%s","partition":0,"replicas":[1,2]},{"topic":"%s","partition":1,"replicas":[2,3]}]}' "$M" "$M" > "$WORK/stay.json"
t nodes-move-execute 0 kafka-reassign-partitions --reassignment-json-file "$WORK/move.json" --execute --throttle 100000
t nodes-move-execute-again 1 kafka-reassign-partitions --reassignment-json-file "$WORK/move.json" --execute
t nodes-move-verify 0 kafka-reassign-partitions --reassignment-json-file "$WORK/move.json" --verify
t nodes-move-list 0 kafka-reassign-partitions --list
SORT=1 t nodes-move-describe 0 kafka-topics --describe --topic "$M"
t nodes-move-topic-config 0 kafka-configs --describe --entity-type topics --entity-name "$M"
t nodes-move-broker-config 0 kafka-configs --describe --entity-type brokers --entity-name 1
t nodes-move-cancel 0 kafka-reassign-partitions --reassignment-json-file "$WORK/move.json" --cancel
t nodes-move-cancel-again 0 kafka-reassign-partitions --reassignment-json-file "$WORK/move.json" --cancel
SORT=1 t nodes-move-cancelled-describe 0 kafka-topics --describe --topic "$M"
t nodes-move-cancelled-topic-config 0 kafka-configs --describe --entity-type topics --entity-name "$M"
t nodes-move-cancelled-list 0 kafka-reassign-partitions --list
t nodes-move-execute-slow 0 kafka-reassign-partitions --reassignment-json-file "$WORK/move.json" --execute --throttle 100000
t nodes-move-faster 0 kafka-reassign-partitions --reassignment-json-file "$WORK/move.json" --execute --additional --throttle 100000000
until_tool 'Reassignment of partition .*-1 is completed' kafka-reassign-partitions --reassignment-json-file "$WORK/move.json" --verify --preserve-throttles
settle
t nodes-moved-verify 0 kafka-reassign-partitions --reassignment-json-file "$WORK/move.json" --verify
t nodes-moved-topic-config 0 kafka-configs --describe --entity-type topics --entity-name "$M"
t nodes-moved-broker-config 0 kafka-configs --describe --entity-type brokers --entity-name 1
t nodes-moved-elect 0 kafka-leader-election --election-type preferred --topic "$M" --partition 0
SORT=1 t nodes-moved-describe 0 kafka-topics --describe --topic "$M"
printf '{"version":1,"partitions":[{"topic":"%s","partition":0,"replicas":[3,9]}]}' "$M" > "$WORK/nine.json"
t nodes-move-unknown-broker 1 kafka-reassign-partitions --reassignment-json-file "$WORK/nine.json" --execute
t nodes-move-no-file 1 kafka-reassign-partitions --reassignment-json-file "$WORK/none.json" --execute
printf '{"version":1,"partitions":[{"topic":"%s","partition":0,"replicas":[3,1,2]},{"topic":"%s","partition":1,"replicas":[1]}]}' "$M" "$M" > "$WORK/factor.json"
t nodes-factor-execute 0 kafka-reassign-partitions --reassignment-json-file "$WORK/factor.json" --execute
until_tool 'Reassignment of partition .*-0 is completed' kafka-reassign-partitions --reassignment-json-file "$WORK/factor.json" --verify --preserve-throttles
settle
SORT=1 t nodes-factor-describe 0 kafka-topics --describe --topic "$M"

# groups
seq 1 30 > "$WORK/lines"
IN="$WORK/lines" t nodes-groups-produce 0 kafka-console-producer --topic "$T"
SORT=1 t nodes-groups-consume 0 kafka-console-consumer --topic "$T" --group "$P-group" --from-beginning --max-messages 30
NUMBERS=1 t nodes-groups-state 0 kafka-consumer-groups --describe --group "$P-group" --state
first=$(tool kafka-consumer-groups --describe --group "$P-group" --offsets 2>/dev/null | awk '$2 ~ /nodes/ {print $3, $4}' | sort)
of=$("$WORK/rolling" coordinator "$BOOTSTRAP" "$P-group")
moved() {
	local then
	then=$(tool kafka-consumer-groups --describe --group "$P-group" --offsets 2>/dev/null | awk '$2 ~ /nodes/ {print $3, $4}' | sort)
	if [ "$first" = "$then" ] && [ "$(awk '{n += $2} END {print n}' <<< "$then")" = 30 ]; then echo "PASS nodes-groups-moved-offsets"; else echo "FAIL nodes-groups-moved-offsets: $first, then $then"; fi
	NUMBERS=1 t nodes-groups-moved-state 0 kafka-consumer-groups --describe --group "$P-group" --state
	SORT=1 t nodes-groups-moved-reset 0 kafka-consumer-groups --group "$P-group" --reset-offsets --to-earliest --topic "$T" --execute
}
without "$of" moved
NUMBERS=1 SORT=1 t nodes-groups-back-describe 0 kafka-consumer-groups --describe --group "$P-group"

# a node that is let go
gone() {
	t nodes-unregister 0 kafka-cluster unregister --id 2
	t nodes-unregister-again 1 kafka-cluster unregister --id 2
	NUMBERS=1 SORT=1 t nodes-unregistered-list-endpoints 0 kafka-cluster list-endpoints
	SORT=1 t nodes-unregistered-describe 0 kafka-topics --describe --topic "$T"
}
tool kafka-leader-election --election-type preferred --all-topic-partitions > /dev/null 2>&1
without 2 gone
NUMBERS=1 SORT=1 t nodes-registered-list-endpoints 0 kafka-cluster list-endpoints
SORT=1 t nodes-deleted 0 kafka-topics --delete --topic "$T.*|$M"
