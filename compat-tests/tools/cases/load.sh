# The tools that make load, with little of it: their numbers aren't compared.
T=$P-load
t load-create 0 kafka-topics --create --topic "$T" --partitions 1
NUMBERS=1 t producer-perf 0 kafka-producer-perf-test --topic "$T" --num-records 1000 --record-size 100 --throughput -1
NUMBERS=1 t producer-perf-acks-1 0 kafka-producer-perf-test --topic "$T" --num-records 1000 --record-size 100 --throughput -1 --command-property acks=1
NUMBERS=1 t consumer-perf 0 kafka-consumer-perf-test --topic "$T" --num-records 2000
KEEP='^Avg|^Percentiles' NUMBERS=1 t e2e-latency 0 kafka-e2e-latency --topic "$T" --num-records 50 --producer-acks all --record-size 100
KEEP='success|sent|complete' NUMBERS=1 t verifiable-producer 0 kafka-verifiable-producer --topic "$P-verifiable" --max-messages 20
KEEP='records_consumed|shutdown' t verifiable-consumer 0 kafka-verifiable-consumer --topic "$P-verifiable" --group-id "$P-verifiable" --max-messages 20 --reset-policy earliest

# A segment that is closed, with its indexes.
t segments-create 0 kafka-topics --create --topic "$P-segments" --partitions 1 --config segment.bytes=1048576
NUMBERS=1 t segments-fill 0 kafka-producer-perf-test --topic "$P-segments" --num-records 2000 --record-size 1000 --throughput -1
t segments-log-dirs 0 kafka-log-dirs --describe --topic-list "$P-segments"
directory=$(sed -n 's/.*"logDir":"\([^"]*\)".*/\1/p' "$WORK/segments-log-dirs.raw")/$P-segments-0
base=$directory/00000000000000000000
KEEP='^Dumping|ismatch|not found|out of order|rror|xception|isvalid: false' t segments-dump-log 0 kafka-dump-log --deep-iteration --files "$base.log"
KEEP='^Dumping|ismatch|not found|out of order|rror|xception' t segments-dump-indexes 0 kafka-dump-log --files "$base.index,$base.timeindex"
t segments-index-check 0 kafka-dump-log --index-sanity-check --files "$base.index,$base.timeindex"
