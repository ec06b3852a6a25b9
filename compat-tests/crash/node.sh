# Sourced by the scripts here: starts and ends one Ottla of their own in $work, on a free port. BOOTSTRAP is its address.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
. "$HERE/../tools/kafka.sh"
OTTLA_BIN=${OTTLA_BIN:-$ROOT/bin/ottla}
work=$(mktemp -d)
port=$((20000 + RANDOM % 10000))
BOOTSTRAP=127.0.0.1:$port
pid=
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
