# What the tools ask of the cluster itself, and of partitions' leaders and replicas.
T=$P-cluster
t cluster-create 0 kafka-topics --create --topic "$T" --partitions 2
KEEP="^HOST|^ ($(paste -sd'|' "$HERE/apis.txt"))\\(" t broker-api-versions 0 kafka-broker-api-versions
t cluster-id 0 kafka-cluster cluster-id
KEEP=ENDPOINT_TYPE t cluster-list-endpoints 0 kafka-cluster list-endpoints
KEEP="^Feature: (metadata|group)\\.version" NUMBERS=1 t features-describe 0 kafka-features describe
NUMBERS=1 t metadata-quorum-status 0 kafka-metadata-quorum describe --status
NUMBERS=1 t metadata-quorum-replication 0 kafka-metadata-quorum describe --replication
NUMBERS=1 t metadata-quorum-human 0 kafka-metadata-quorum describe --replication --human-readable
t leader-election-preferred 0 kafka-leader-election --election-type preferred --topic "$T" --partition 0
t leader-election-unclean 0 kafka-leader-election --election-type unclean --topic "$T" --partition 1
t leader-election-missing 1 kafka-leader-election --election-type preferred --topic "$T-none" --partition 0
printf '{"partitions":[{"topic":"%s","partition":1}]}' "$T" > "$WORK/elect.json"
t leader-election-file 0 kafka-leader-election --election-type preferred --path-to-json-file "$WORK/elect.json"
t reassign-list 0 kafka-reassign-partitions --list
printf '{"version":1,"topics":[{"topic":"%s"}]}' "$T" > "$WORK/move.json"
t reassign-generate 0 kafka-reassign-partitions --topics-to-move-json-file "$WORK/move.json" --broker-list 1 --generate
printf '{"version":1,"partitions":[{"topic":"%s","partition":0,"replicas":[1]}]}' "$T" > "$WORK/reassign.json"
t reassign-verify 0 kafka-reassign-partitions --reassignment-json-file "$WORK/reassign.json" --verify
# Where the partition lies already: brokers with several directories are internal/server's and the root's tests.
dir=$(tool kafka-log-dirs --describe --topic-list "$T" | sed -n 's/.*"logDir":"\([^"]*\)".*/\1/p')
printf '{"version":1,"partitions":[{"topic":"%s","partition":0,"replicas":[1],"log_dirs":["%s"]}]}' "$T" "$dir" > "$WORK/dirs.json"
t reassign-execute 0 kafka-reassign-partitions --reassignment-json-file "$WORK/dirs.json" --execute
t reassign-execute-verify 0 kafka-reassign-partitions --reassignment-json-file "$WORK/dirs.json" --verify
printf '{"version":1,"partitions":[{"topic":"%s","partition":0,"replicas":[2]}]}' "$T" > "$WORK/nobody.json"
t reassign-execute-nobody 1 kafka-reassign-partitions --reassignment-json-file "$WORK/nobody.json" --execute
t acls-list 1 kafka-acls --list
