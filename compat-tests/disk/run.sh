#!/usr/bin/env bash
# run.sh: full devices, with brokers of its own (a BOOTSTRAP is not used), in a mount namespace of its own.
set -uo pipefail
cd "$(dirname "$0")"
export OTTLA_BIN=${OTTLA_BIN:-$(cd ../.. && pwd)/bin/ottla}
if unshare -m --propagation private true 2> /dev/null; then
	enter=(unshare -m --propagation private)
elif unshare -rm --propagation private true 2> /dev/null; then
	enter=(unshare -rm --propagation private)
else
	echo "SKIP disk: this machine lets an unprivileged user make no mount namespace"
	echo "disk: 0 passed, 0 failed, 1 skipped"
	exit 0
fi
if OTTLA_DISK_NAMESPACE=1 "${enter[@]}" go test -count=1 -timeout 5m -v . > >(grep -v '^=== ') 2>&1; then
	echo "disk: 1 passed, 0 failed, 0 skipped"
else
	echo "disk: 0 passed, 1 failed, 0 skipped"
	exit 1
fi
