#!/usr/bin/env bash
# jars.sh: fetches Apache Kafka (broker, clients, tools) with Maven into the cache and prints the folder of its jars.
# Needs Java 17 or newer and Maven; once the folder is complete it needs no network.
set -euo pipefail
VERSION=${KAFKA_VERSION:-4.4.0}
LIBS=${OTTLA_CACHE:-$HOME/.cache/ottla-tests}/kafka-$VERSION/libs
if [ ! -f "$LIBS/.complete" ]; then
	command -v mvn > /dev/null || { echo "jars.sh: Maven (mvn) isn't installed" >&2; exit 1; }
	mkdir -p "$(dirname "$LIBS")"
	work=$(mktemp -d "$(dirname "$LIBS")/fetch.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	dependency() { echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId><version>$3</version></dependency>"; }
	cat > "$work/pom.xml" <<-POM
		<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
		<groupId>bench</groupId><artifactId>kafka</artifactId><version>1</version>
		<dependencies>
		$(dependency org.apache.kafka kafka_2.13 "$VERSION")
		$(dependency org.apache.kafka kafka-tools "$VERSION")
		$(dependency org.slf4j slf4j-simple 1.7.36)
		</dependencies></project>
	POM
	mvn -B -q -f "$work/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$work/libs" >&2
	touch "$work/libs/.complete"
	# Another run may have been faster.
	[ -f "$LIBS/.complete" ] || { rm -rf "$LIBS"; mv "$work/libs" "$LIBS"; }
fi
echo "$LIBS"
