#!/usr/bin/env bash
# run.sh [BOOTSTRAP]: SSL listeners with the stores that keytool makes and the stock tools of Kafka 4.4.0, against brokers of its own (a BOOTSTRAP
# is not used). FINDINGS.md has what Kafka itself says to bad stores.
set -- "${1:-own}"
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$HERE/../tools/kafka.sh"
kafka_jars
OTTLA_BIN=${OTTLA_BIN:-$ROOT/bin/ottla}
WORK=$(mktemp -d); PID=
stop() { [ -z "$PID" ] || { kill "$PID" 2> /dev/null; wait "$PID" 2> /dev/null || true; }; PID=; }
trap 'stop; rm -rf "$WORK"' EXIT
P=Pass-w0rd
cells=$WORK/cells
: > "$cells"
# cell NAME COMMAND...: passes if the command does.
cell() {
	local name=$1; shift
	if "$@" > "$WORK/out" 2>&1; then echo "PASS $name" >> "$cells"; else echo "FAIL $name: $(tail -1 "$WORK/out" | cut -c-200)" >> "$cells"; fi
}
# refused COMMAND...: passes if the command fails.
refused() { ! "$@"; }

# An authority, a broker's certificate that it signs, and a client's; a stranger's truststore. All by keytool.
kt() { keytool "$@" -storepass $P -noprompt 2> /dev/null; }
make_stores() {
	cd "$WORK"
	kt -genkeypair -keystore ca.p12 -alias ca -keyalg EC -dname CN=ca -ext bc:c -ext ku=keyCertSign -validity 2
	kt -exportcert -keystore ca.p12 -alias ca -rfc -file ca.pem
	local who
	for who in broker broker2 client; do
		kt -genkeypair -keystore $who.p12 -alias $who -keyalg RSA -dname CN=$who -validity 2
		kt -certreq -keystore $who.p12 -alias $who |
			kt -gencert -keystore ca.p12 -alias ca -rfc -ext san=dns:localhost,ip:127.0.0.1 -validity 2 -outfile $who.pem
		kt -importcert -keystore $who.p12 -alias ca -file ca.pem
		kt -importcert -keystore $who.p12 -alias $who -file $who.pem
	done
	kt -importkeystore -srckeystore broker.p12 -srcstorepass $P -destkeystore broker.jks -deststoretype JKS -srcalias broker
	kt -importcert -keystore trust.p12 -alias ca -file ca.pem
	kt -importcert -keystore trust.jks -storetype JKS -alias ca -file ca.pem
	kt -genkeypair -keystore other.p12 -alias other -keyalg EC -dname CN=other -ext bc:c -validity 2
	kt -exportcert -keystore other.p12 -alias other -rfc -file other.pem
	kt -importcert -keystore stranger.p12 -alias other -file other.pem
	# Key and chain as text, the key encrypted as Java 17 can read it.
	openssl pkcs12 -in client.p12 -passin pass:$P -nodes -nocerts 2> /dev/null | openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES -passout pass:$P -out client.key
	client plain-trust "ssl.truststore.location=$WORK/trust.p12" "ssl.truststore.password=$P"
	client with-cert "ssl.truststore.location=$WORK/trust.jks" "ssl.truststore.password=$P" "ssl.keystore.location=$WORK/client.p12" "ssl.keystore.password=$P"
	client tls12 "ssl.truststore.location=$WORK/trust.p12" "ssl.truststore.password=$P" ssl.enabled.protocols=TLSv1.2 ssl.protocol=TLSv1.2
	client stranger "ssl.truststore.location=$WORK/stranger.p12" "ssl.truststore.password=$P"
	cd "$HERE"
}
# client NAME LINE...: a client's properties
client() {
	local name=$1; shift
	printf '%s\n' security.protocol=SSL default.api.timeout.ms=8000 request.timeout.ms=5000 max.block.ms=8000 "$@" > "$WORK/$name.properties"
}
# broker NAME OPTION...: sets PID, SSL and PLAIN
broker() {
	local name=$1 port i; shift
	stop
	for ((port = 21000 + RANDOM % 9000; ; port += 2)); do (exec 3<> "/dev/tcp/127.0.0.1/$port" || exec 3<> "/dev/tcp/127.0.0.1/$((port + 1))") 2> /dev/null || break; done
	PLAIN=127.0.0.1:$port SSL=127.0.0.1:$((port + 1))
	"$OTTLA_BIN" serve -o "listeners=PLAINTEXT://$PLAIN,SSL://$SSL" -o "log.dirs=$WORK/$name" "$@" > "$WORK/$name.log" 2>&1 &
	PID=$!
	for ((i = 0; i < 100; i++)); do
		grep -q 'msg=ready' "$WORK/$name.log" && return 0
		kill -0 "$PID" 2> /dev/null || { wait "$PID" || true; PID=; return 1; }
		sleep 0.1
	done
	return 1
}
topics() { kafka kafka-topics --bootstrap-server "$SSL" --command-config "$WORK/$1.properties" "${@:2}"; }
# round TOPIC CLIENT: what is produced is consumed
round() {
	topics "$2" --create --topic "$1" --partitions 1 --replication-factor 1 || return 1
	seq 1 2000 | kafka kafka-console-producer --bootstrap-server "$SSL" --command-config "$WORK/$2.properties" --topic "$1" || return 1
	[ "$(kafka kafka-console-consumer --bootstrap-server "$SSL" --command-config "$WORK/$2.properties" --topic "$1" --from-beginning --max-messages 2000 --timeout-ms 15000 | sort -n | md5sum)" \
		= "$(seq 1 2000 | md5sum)" ]
}
# shown NAME: the broker's certificate is NAME's
shown() { openssl s_client -connect "$SSL" < /dev/null 2> /dev/null | openssl x509 -noout -subject | grep -qE "CN ?= ?$1\$"; }
# resumes VERSION: a session is resumed
resumes() {
	(sleep 0.5) | openssl s_client -connect "$SSL" "-$1" -sess_out "$WORK/session" > /dev/null 2>&1
	openssl s_client -connect "$SSL" "-$1" -sess_in "$WORK/session" < /dev/null 2> /dev/null | grep -q '^Reused'
}
# says TEXT: the broker that didn't start said so in one line
says() { grep -qF "$1" "$WORK/bad.log" && ! grep -qF "$P" "$WORK/bad.log"; }
# rotate: another keystore while the broker runs
rotate() {
	kafka kafka-configs --bootstrap-server "$PLAIN" --entity-type brokers --entity-name 1 --alter --add-config "listener.name.ssl.ssl.keystore.location=$WORK/broker2.p12" || return 1
	local i
	for ((i = 0; i < 50; i++)); do shown broker2 && return 0; sleep 0.1; done
	return 1
}

# cluster: three nodes whose clients, brokers and controllers all show certificates. What was acknowledged is there after a kill -9.
cluster() {
	local base i ready pids=() voters=
	for ((base = 21000 + RANDOM % 9000; ; base += 10)); do
		ready=yes
		for ((i = 1; i <= 6; i++)); do ! (exec 3<> "/dev/tcp/127.0.0.1/$((base + i))") 2> /dev/null || ready=; done
		[ -z "$ready" ] || break
	done
	for i in 1 2 3; do voters+=${voters:+,}$i@127.0.0.1:$((base + 3 + i)); done
	for i in 1 2 3; do
		"$OTTLA_BIN" serve -o process.roles=broker,controller -o "node.id=$i" -o "controller.quorum.voters=$voters" -o "log.dirs=$WORK/node$i" \
			-o "listeners=SSL://127.0.0.1:$((base + i)),CONTROLLER://127.0.0.1:$((base + 3 + i))" -o controller.listener.names=CONTROLLER \
			-o security.inter.broker.protocol=SSL -o listener.security.protocol.map=CONTROLLER:SSL,SSL:SSL -o ssl.client.auth=required \
			-o "ssl.keystore.location=$WORK/broker.p12" -o "ssl.keystore.password=$P" -o "ssl.truststore.location=$WORK/trust.p12" -o "ssl.truststore.password=$P" \
			-o default.replication.factor=3 -o min.insync.replicas=2 > "$WORK/node$i.log" 2>&1 &
		pids+=($!)
	done
	(
		for ((i = 0; i < 150; i++)); do [ "$(cat "$WORK"/node?.log | grep -c msg=ready)" = 3 ] && break; sleep 0.1; done
		SSL=127.0.0.1:$((base + 2)); at="--bootstrap-server $SSL --command-config $WORK/with-cert.properties --topic copied"
		topics with-cert --create --topic copied --partitions 3 && seq 1 2000 | kafka kafka-console-producer $at --command-property acks=all && kill -9 "${pids[0]}" &&
			[ "$(kafka kafka-console-consumer $at --from-beginning --max-messages 2000 --timeout-ms 20000 | sort -n | md5sum)" = "$(seq 1 2000 | md5sum)" ]
	)
	i=$?
	kill "${pids[@]}" 2> /dev/null
	wait "${pids[@]}" 2> /dev/null || true
	return $i
}

make_stores > /dev/null
if broker p12 -o "ssl.keystore.location=$WORK/broker.p12" -o "ssl.keystore.password=$P"; then
	cell "pkcs12: produce and consume" round a plain-trust
	cell "TLS 1.2: produce and consume" round b tls12
	cell "a client that trusts others is refused" refused topics stranger --list
	cell "sessions of TLS 1.3 are resumed" resumes tls1_3
	cell "sessions of TLS 1.2 are resumed" resumes tls1_2
	cell "the first certificate is shown" shown broker
	cell "kafka-configs replaces the keystore" rotate
	cell "a client after that" topics plain-trust --list
else
	echo "FAIL pkcs12: produce and consume: $(tail -1 "$WORK/p12.log")" >> "$cells"
fi
if broker jks -o "ssl.keystore.location=$WORK/broker.jks" -o "ssl.keystore.password=$P" -o ssl.keystore.type=JKS \
	-o "ssl.truststore.location=$WORK/trust.jks" -o "ssl.truststore.password=$P" -o ssl.client.auth=required; then
	cell "jks, client certificates: produce and consume" round c with-cert
	cell "a client without a certificate is refused" refused topics plain-trust --list
	client pem-cert ssl.truststore.type=PEM "ssl.truststore.location=$WORK/ca.pem" ssl.keystore.type=PEM "ssl.key.password=$P" "ssl.keystore.location=$WORK/client-all.pem"
	cat "$WORK/client.key" "$WORK/client.pem" > "$WORK/client-all.pem"
	cell "a client with a certificate in PEM" topics pem-cert --list
else
	echo "FAIL jks, client certificates: produce and consume: $(tail -1 "$WORK/jks.log")" >> "$cells"
fi
cell "pem with an encrypted key starts" broker pem -o ssl.keystore.type=PEM -o "ssl.keystore.location=$WORK/client-all.pem" -o "ssl.key.password=$P"
cell "pem: a client" topics plain-trust --list
cell "a wrong password stops the start" refused broker bad -o "ssl.keystore.location=$WORK/broker.p12" -o "ssl.keystore.password=wrong"
cell "and is named" says "listener SSL: ssl.keystore.location=$WORK/broker.p12: the password in ssl.keystore.password is wrong"
cell "a truststore as keystore stops the start" refused broker bad -o "ssl.keystore.location=$WORK/trust.p12" -o "ssl.keystore.password=$P"
cell "and that is said" says "there is no private key in it"
stop
cell "three nodes with SSL throughout, one killed" cluster
judge tls "$cells"
