# Sourced by the scripts here: starts and ends one Ottla of their own in $work, on a free port, and one Kafka. BOOTSTRAP and
# KAFKA_BOOTSTRAP are their addresses, $work/data and $work/kafka their log directories.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
. "$HERE/../tools/kafka.sh"
OTTLA_BIN=${OTTLA_BIN:-$ROOT/bin/ottla}
work=$(mktemp -d)
port=$((20000 + RANDOM % 10000))
BOOTSTRAP=127.0.0.1:$port
pid=
kafka_port=$((port + 1))
KAFKA_BOOTSTRAP=127.0.0.1:$kafka_port
kafka_pid=
# answers PORT: whether somebody listens
answers() { (exec 3<> "/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
start_ottla() { # OPTION...
	"$OTTLA_BIN" serve -o listeners=PLAINTEXT://"$BOOTSTRAP" -o advertised.listeners=PLAINTEXT://"$BOOTSTRAP" -o log.dirs="$work/data" \
		"$@" 2>> "$work/ottla.log" &
	pid=$!
	for ((i = 0; i < 200; i++)); do
		answers "$port" && return
		kill -0 "$pid" 2>/dev/null || { tail -5 "$work/ottla.log" >&2; return 1; }
		sleep 0.05
	done
	echo "Ottla isn't ready" >&2; return 1
}
# end_ottla SIGNAL
end_ottla() {
	[ -n "$pid" ] || return 0
	kill "-$1" "$pid"; wait "$pid" 2>/dev/null || true
	pid=
}
no_errors() { ! grep -E '^panic|level=ERROR' "$work/ottla.log"; }
run_class() { java -Xmx512m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$KAFKA_LIBS/*" "$@"; }
# start_kafka [SETTING...]: a Kafka 4.4.0 with its directory formatted if it is new
start_kafka() {
	{
		cat <<-P
			process.roles=broker,controller
			node.id=1
			listeners=PLAINTEXT://$KAFKA_BOOTSTRAP,CONTROLLER://127.0.0.1:$((port + 2))
			advertised.listeners=PLAINTEXT://$KAFKA_BOOTSTRAP,CONTROLLER://127.0.0.1:$((port + 2))
			controller.quorum.bootstrap.servers=127.0.0.1:$((port + 2))
			controller.listener.names=CONTROLLER
			inter.broker.listener.name=PLAINTEXT
			listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
			log.dirs=$work/kafka
			log.segment.bytes=1048576
			offsets.topic.replication.factor=1
			offsets.topic.num.partitions=4
			group.initial.rebalance.delay.ms=0
			transaction.state.log.replication.factor=1
			transaction.state.log.min.isr=1
			transaction.state.log.num.partitions=4
		P
		printf '%s\n' "$@"
	} > "$work/kafka.properties"
	[ -f "$work/kafka/meta.properties" ] || run_class kafka.tools.StorageTool format --standalone -t b3R0bGEtdGFrZW92ZXItMQ \
		-c "$work/kafka.properties" > "$work/format.log" 2>&1 || { cat "$work/format.log" >&2; return 1; }
	java -Xmx512m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$KAFKA_LIBS/*" kafka.Kafka "$work/kafka.properties" >> "$work/kafka.log" 2>&1 &
	kafka_pid=$!
	for ((i = 0; i < 1200; i++)); do
		answers "$kafka_port" && return
		kill -0 "$kafka_pid" 2>/dev/null || { tail -5 "$work/kafka.log" >&2; return 1; }
		sleep 0.1
	done
	echo "Kafka isn't ready" >&2; return 1
}
# end_kafka SIGNAL
end_kafka() {
	[ -n "$kafka_pid" ] || return 0
	kill "-$1" "$kafka_pid"; wait "$kafka_pid" 2>/dev/null || true
	kafka_pid=
}
# hand FROM TO: puts the partitions' files of one log directory in the place of those of the same partitions in another, which keep
# their partition.metadata: the topic's id is the cluster's. Both brokers are stopped. __consumer_offsets is handed on, other internal topics aren't.
hand() {
	local from to
	for from in "$1"/*-[0-9]*; do
		case ${from##*/} in __consumer_offsets-*) ;; __*) continue ;; esac
		to=$2/${from##*/}
		[ -f "$to/partition.metadata" ] || { echo "there is no $to" >&2; return 1; }
		find "$to" -mindepth 1 ! -name partition.metadata -delete
		find "$from" -mindepth 1 -maxdepth 1 -type f ! -name partition.metadata -exec cp {} "$to/" \;
	done
}
# hand_checkpoints FROM TO: the offsets in FROM's checkpoints of the partitions that hand handed on, in the place of TO's
hand_checkpoints() {
	local name
	for name in recovery-point log-start replication cleaner; do
		name=$name-offset-checkpoint
		{
			[ ! -f "$2/$name" ] || tail -n +3 "$2/$name" | grep '^__' | grep -v '^__consumer_offsets ' || true
			[ ! -f "$1/$name" ] || tail -n +3 "$1/$name" | grep -E '^([^_]|_[^_]|__consumer_offsets )' || true
		} > "$work/checkpoint"
		{ echo 0; wc -l < "$work/checkpoint"; cat "$work/checkpoint"; } > "$2/$name"
	done
}
# wait_compacted DIR: until the cleaner's checkpoint has both partitions of every topic that the workload compacts and writes, or of those named
wait_compacted() {
	local dir=$1 topic p i; shift
	for topic in "$@"; do
		for p in 0 1; do
			for ((i = 0; i < 600; i++)); do
				grep -qE "^$topic $p [1-9]" "$dir/cleaner-offset-checkpoint" 2>/dev/null && continue 2
				sleep 0.1
			done
			echo "$topic-$p isn't compacted" >&2; return 1
		done
	done
}
# quick compactions and retention, for either broker
quick=(log.cleaner.backoff.ms=100 log.retention.check.interval.ms=300 log.segment.bytes=1048576 offsets.topic.num.partitions=4
	log.index.interval.bytes=1024 file.delete.delay.ms=1000)
quick_options=()
for setting in "${quick[@]}"; do quick_options+=(-o "$setting"); done
compacted=(compacted compacted-none compacted-plain-zstd)
# transact: transactions in a stopped Ottla's partitions, which no API makes yet
transact() { (cd "$ROOT" && go run ./log/testdata/transactional "$work/data" transactions:lz4:delete transactions-compacted:none:compact); }
