# Sourced by run.sh. Names of topics and groups start with $P, which no other run uses.
# t NAME EXIT TOOL ARGUMENT...: runs a tool and prints PASS when it ends with that code and its normalised output is golden/NAME.txt.
#   IN      file for its standard input
#   KEEP    only lines that match this expression are compared (for lists that show other runs' names too)
#   NUMBERS set: every number becomes N (for measurements)
#   SORT    set: lines are sorted
#   NAMES   set: of "name=value ..." the name is compared, with whether it is read-only or sensitive
# With RECORD set the output becomes the golden file: only from Kafka itself.
t() {
	local name=$1 want=$2 code=0 difference; shift 2
	tool "$@" < "${IN:-/dev/null}" > "$WORK/$name.raw" 2>&1 || code=$?
	normalise < "$WORK/$name.raw" > "$WORK/$name.txt"
	if [ -n "${RECORD:-}" ]; then cp "$WORK/$name.txt" "$HERE/golden/$name.txt"; fi
	if [ "$code" != "$want" ]; then
		echo "FAIL $name: exit code $code, want $want: $(head -2 "$WORK/$name.raw" | tr '\n' ' ')"
	elif difference=$(diff "$HERE/golden/$name.txt" "$WORK/$name.txt" 2>&1); then
		echo "PASS $name"
	else
		echo "FAIL $name: $(sed 1d <<< "$difference" | head -4 | tr '\n' ' ')"
	fi
}
# tool TOOL ARGUMENT...: a stock tool with the bootstrap option, ended after a minute
tool() {
	local name=$1; shift
	case $name in
	kafka-dump-log) ;;
	kafka-cluster) set -- "$@" --bootstrap-server "$BOOTSTRAP" ;;
	*) set -- --bootstrap-server "$BOOTSTRAP" "$@" ;;
	esac
	LAUNCH="${LAUNCH:-} timeout 60" kafka "$name" "$@"
}
# normalise: what differs from run to run is replaced: names, addresses, ids, times, directories, column widths
normalise() {
	local address=${BOOTSTRAP//./\\.}
	sed -E -e '/^[[:space:]]+at |^[[:space:]]*\.\.\. [0-9]+ more/d' \
		-e "s#$P#P#g; s#$WORK#WORK#g; s#(localhost|127\\.0\\.0\\.1):[0-9]+#HOST:PORT#g; s#/?127\\.0\\.0\\.1#HOST#g" \
		-e 's#\b[A-Z]+://HOST:PORT#LISTENER://HOST:PORT#g; s#HOST:PORT +#HOST:PORT #' \
		-e 's#[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}#UUID#g; s#(TopicId|Cluster ID|ClusterId|Directory|directoryId): +[A-Za-z0-9_-]{22}#\1: ID#g' \
		-e 's#[0-9]{4}-[0-9]{2}-[0-9]{2}([T ])[0-9:]{8}([.,:][0-9]+)?(Z|\+[0-9:]+)?#TIME#g; s#\b1[0-9]{12}\b#TIME#g' \
		-e 's#(directoryId": )"[^"]*"#\1"ID"#g; s#^([0-9]+[[:space:]]+)[A-Za-z0-9_-]{22}[[:space:]]#\1ID #' \
		-e 's#"(logDir|log_dirs)":(\[?)"/[^"]*"#"\1":\2"DIR"#g; s#/[^ :"]*/(P-[a-z]+-[0-9]+/)#DIR/\1#g' \
		-e 's#(log dir|log directory) (to )?/[^ ]+#\1 \2DIR#g' \
		-e 's#(crc|producerId|position|size|"size"):( ?)[0-9]+#\1:\2N#g; s#rack: [^ ]+#rack: RACK#; s#(TimeoutException): .*#\1#' \
		-e "${NUMBERS:+s#[0-9]+([.,][0-9]+)*#N#g}" -e "${NAMES:+s#^( *[a-z.]+)=.*(sensitive=[a-z]+).*#\\1 \\2#}" -e 's#[[:space:]]+# #g; s# $##' |
		{ if [ -n "${KEEP:-}" ]; then grep -E "$KEEP" || true; else cat; fi; } | { if [ -n "${SORT:-}" ]; then LC_ALL=C sort; else cat; fi; }
}
