#!/usr/bin/env bash
# run.sh BOOTSTRAP: the matrix of ../cells with Kafka's Java client, four releases of it; cells are named VERSION/cell.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
"$ROOT/scripts/install-tools.sh" java
out=$(mktemp)
for version in ${VERSIONS:-4.4.0 3.9.1 2.8.2 2.1.1}; do
	libs=$CACHE/java/$version
	if [ ! -f "$libs/.complete" ]; then
		mkdir -p "$libs"
		cat > "$libs/pom.xml" <<POM
<project><modelVersion>4.0.0</modelVersion><groupId>compat</groupId><artifactId>java</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>$version</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>1.7.36</version></dependency>
</dependencies></project>
POM
		mvn -q -B -f "$libs/pom.xml" dependency:copy-dependencies -DoutputDirectory="$libs" > "$libs/mvn.log" 2>&1 || { tail -5 "$libs/mvn.log" >&2; exit 1; }
		touch "$libs/.complete"
	fi
	javac -nowarn -cp "$libs/*" -d "$libs/classes" "$HERE/src/Cells.java"
	{ timeout 400 java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx256m -cp "$libs/*:$libs/classes" Cells "$BOOTSTRAP" 2> "$out.err" || true; } |
		sed -E "s#^(PASS|FAIL) #\\1 $version/#" >> "$out"
done
judge java "$out"
