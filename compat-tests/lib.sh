# Sourced by every client's run.sh. A client's program prints "PASS cell" or "FAIL cell: reason" lines on its standard output.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${OTTLA_CACHE:-$HOME/.cache/ottla-tests}/compat
BOOTSTRAP=${1:-}
[ -n "$BOOTSTRAP" ] || { echo "usage: $0 HOST:PORT" >&2; exit 2; }
mkdir -p "$CACHE"
# judge NAME FILE: prints the failures and "NAME: N passed, N failed, N skipped". Fails if a cell of tests.allow did not pass, or if
# a cell failed that expected-fail does not list. tests.allow only grows.
judge() {
	local name=$1 out=$2 status=0 cell
	grep '^FAIL ' "$out" || true
	while read -r cell; do
		[ -n "$cell" ] && [ "${cell:0:1}" != '#' ] || continue
		grep -qxF "PASS $cell" "$out" || { echo "$name: $cell must pass and did not"; status=1; }
	done < "$HERE/tests.allow"
	while read -r cell; do
		[ -f "$HERE/expected-fail" ] && grep -qxF "$cell" "$HERE/expected-fail" || { echo "$name: $cell failed unexpectedly"; status=1; }
	done < <(sed -n 's/^FAIL \([^:]*\).*/\1/p' "$out")
	echo "$name: $(grep -c '^PASS ' "$out" || true) passed, $(grep -c '^FAIL ' "$out" || true) failed, $(grep -c '^SKIP ' "$out" || true) skipped"
	return $status
}
# play NAME COMMAND...: runs a client's program and judges what it printed
play() {
	local name=$1 out; shift
	out=$(mktemp)
	timeout "${LIMIT:-400}" "$@" > "$out" 2> "$out.err" || true
	grep -qE '^(PASS|FAIL) ' "$out" || { tail -20 "$out.err" >&2; }
	judge "$name" "$out" && { rm -f "$out" "$out.err"; return 0; }
	tail -5 "$out.err" >&2
	return 1
}
