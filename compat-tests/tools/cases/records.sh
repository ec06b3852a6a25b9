# Records in and out by the console tools; offsets, deletion, directories and the files themselves.
T=$P-records
t records-create 0 kafka-topics --create --topic "$T" --partitions 1
printf 'h1:one,h2:two\tk1\tfirst\nh1:x\tk2\tsecond\nh1:y\tk1\tthird\n' > "$WORK/in.txt"
IN=$WORK/in.txt t console-producer-headers 0 kafka-console-producer --topic "$T" --reader-property parse.key=true --reader-property parse.headers=true
printf 'k%s:value %s\n' 4 4 5 5 6 6 > "$WORK/in2.txt"
for codec in gzip snappy lz4 zstd; do
	IN=$WORK/in2.txt t console-producer-$codec 0 kafka-console-producer --topic "$T" --compression-codec $codec --reader-property parse.key=true --reader-property key.separator=:
done
printf 'no separator\n' > "$WORK/in3.txt"
IN=$WORK/in3.txt t console-producer-no-key 1 kafka-console-producer --topic "$T" --reader-property parse.key=true
t console-consumer-headers 0 kafka-console-consumer --topic "$T" --from-beginning --max-messages 15 --timeout-ms 20000 \
	--formatter-property print.key=true --formatter-property print.headers=true --formatter-property print.offset=true --formatter-property print.partition=true --formatter-property print.timestamp=true
t console-consumer-partition 0 kafka-console-consumer --topic "$T" --partition 0 --offset 2 --max-messages 3 --timeout-ms 20000
t console-consumer-end 0 kafka-console-consumer --topic "$T" --partition 0 --offset latest --timeout-ms 1000
t console-consumer-committed 0 kafka-console-consumer --topic "$T" --from-beginning --isolation-level read_committed --max-messages 2 --timeout-ms 20000
for time in -1 -2 -4 -5 latest earliest earliest-local latest-tiered 0 99999999999999; do
	t get-offsets-$time 0 kafka-get-offsets --topic "$T" --time $time
done
# Which of the last three it is depends on the clock.
NUMBERS=1 t get-offsets--3 0 kafka-get-offsets --topic "$T" --time -3
NUMBERS=1 t get-offsets-max-timestamp 0 kafka-get-offsets --topic "$T" --time max-timestamp
t get-offsets-topic-partitions 0 kafka-get-offsets --topic-partitions "$T:0"
t get-offsets-missing 1 kafka-get-offsets --topic "$T-none"
record_deletion() { printf '{"version":1,"partitions":[{"topic":"%s","partition":%s,"offset":%s}]}' "$T" "$1" "$2" > "$WORK/$3.json"; }
record_deletion 0 4 delete; record_deletion 0 99 beyond; record_deletion 7 1 missing
t delete-records 0 kafka-delete-records --offset-json-file "$WORK/delete.json"
t delete-records-beyond 0 kafka-delete-records --offset-json-file "$WORK/beyond.json"
printf "%s\n" default.api.timeout.ms=3000 request.timeout.ms=2000 > "$WORK/short.properties" # the tool asks again until then
NUMBERS=1 t delete-records-missing 0 kafka-delete-records --command-config "$WORK/short.properties" --offset-json-file "$WORK/missing.json"
t get-offsets-after-deletion 0 kafka-get-offsets --topic "$T" --time earliest
t log-dirs 0 kafka-log-dirs --describe --topic-list "$T"
t log-dirs-unknown-broker 1 kafka-log-dirs --describe --broker-list 999
directory=$(sed -n 's/.*"logDir":"\([^"]*\)".*/\1/p' "$WORK/log-dirs.raw")/$T-0
base=00000000000000000000
t dump-log 0 kafka-dump-log --files "$directory/$base.log"
t dump-log-deep 0 kafka-dump-log --deep-iteration --print-data-log --files "$directory/$base.log"
NUMBERS=1 t transactions-describe-producers 0 kafka-transactions describe-producers --topic "$T" --partition 0
