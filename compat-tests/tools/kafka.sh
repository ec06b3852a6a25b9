# Sourced after ../lib.sh: kafka TOOL ARGUMENT... runs a stock tool of Kafka 4.4.0 by its script's name without ".sh". The jars are fetched
# with Maven into the cache, once. HEAP is the JVM's (-Xmx128m), LAUNCH a command that starts it (timeout 60).
KAFKA_VERSION=4.4.0
KAFKA_LIBS=${OTTLA_CACHE:-$HOME/.cache/ottla-tests}/kafka-$KAFKA_VERSION/libs
kafka_jars() {
	"$ROOT/scripts/install-tools.sh" java
	[ ! -f "$KAFKA_LIBS/.complete" ] || return 0
	local tmp
	mkdir -p "$(dirname "$KAFKA_LIBS")"; tmp=$(mktemp -d "$(dirname "$KAFKA_LIBS")/get.XXXXXX")
	cat > "$tmp/pom.xml" <<POM
<project><modelVersion>4.0.0</modelVersion><groupId>compat</groupId><artifactId>tools</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$KAFKA_VERSION</version></dependency>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>$KAFKA_VERSION</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
</dependencies></project>
POM
	mvn -q -B -f "$tmp/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$tmp/libs" > "$tmp/mvn.log" 2>&1 ||
		{ tail -5 "$tmp/mvn.log" >&2; return 1; }
	touch "$tmp/libs/.complete"
	# Another run may have been faster.
	[ -f "$KAFKA_LIBS/.complete" ] || { rm -rf "$KAFKA_LIBS"; mv "$tmp/libs" "$KAFKA_LIBS"; }
	rm -rf "$tmp"
}
kafka_class() {
	local tools=org.apache.kafka.tools
	case $1 in
	kafka-topics) echo $tools.TopicCommand ;;
	kafka-configs) echo $tools.ConfigCommand ;;
	kafka-console-producer) echo $tools.ConsoleProducer ;;
	kafka-console-consumer) echo $tools.consumer.ConsoleConsumer ;;
	kafka-consumer-groups) echo $tools.consumer.group.ConsumerGroupCommand ;;
	kafka-groups) echo $tools.GroupsCommand ;;
	kafka-get-offsets) echo $tools.GetOffsetShell ;;
	kafka-delete-records) echo $tools.DeleteRecordsCommand ;;
	kafka-log-dirs) echo $tools.LogDirsCommand ;;
	kafka-dump-log) echo $tools.DumpLogSegments ;;
	kafka-broker-api-versions) echo $tools.BrokerApiVersionsCommand ;;
	kafka-cluster) echo $tools.ClusterTool ;;
	kafka-features) echo $tools.FeatureCommand ;;
	kafka-metadata-quorum) echo $tools.MetadataQuorumCommand ;;
	kafka-leader-election) echo $tools.LeaderElectionCommand ;;
	kafka-reassign-partitions) echo $tools.reassign.ReassignPartitionsCommand ;;
	kafka-acls) echo $tools.AclCommand ;;
	kafka-client-metrics) echo $tools.ClientMetricsCommand ;;
	kafka-transactions) echo $tools.TransactionsCommand ;;
	kafka-streams-application-reset) echo $tools.StreamsResetter ;;
	kafka-producer-perf-test) echo $tools.ProducerPerformance ;;
	kafka-consumer-perf-test) echo $tools.ConsumerPerformance ;;
	kafka-e2e-latency) echo $tools.EndToEndLatency ;;
	kafka-verifiable-producer) echo $tools.VerifiableProducer ;;
	kafka-verifiable-consumer) echo $tools.VerifiableConsumer ;;
	*) echo "no tool $1" >&2; return 1 ;;
	esac
}
kafka() {
	local class; class=$(kafka_class "$1"); shift
	${LAUNCH:-} java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "${HEAP:--Xmx128m}" -Djava.awt.headless=true -Dorg.slf4j.simpleLogger.defaultLogLevel="${TOOL_LOG:-off}" \
		-cp "$KAFKA_LIBS/*" "$class" "$@"
}
