#!/usr/bin/env bash
# run.sh: kills, damaged files, dump.sh, takeover.sh and handback.sh, each with brokers of its own (a BOOTSTRAP is not used). Prints a line a part.
set -uo pipefail
cd "$(dirname "$0")"
export OTTLA_BIN=${OTTLA_BIN:-$(cd ../.. && pwd)/bin/ottla}
passed=0 failed=0
part() {
	if "$@"; then passed=$((passed + 1)); else echo "FAIL $*"; failed=$((failed + 1)); fi
}
part go test -count=1 . -rounds "${OTTLA_CRASH_ROUNDS:-10}"
part ./dump.sh
part ./takeover.sh
part ./handback.sh
echo "crash: $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
