#!/usr/bin/env bash
# pgo.sh: takes the CPU profile that `make build` gives the compiler (cmd/ottla/cpu.pprof) from a broker under the raw loads of the
# benchmark: Produce of 2 KiB and 16 KiB, Fetch of 16 KiB. About 20 seconds, of an otherwise quiet machine.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -x "$HERE/../bin/ottla" ] || { echo "pgo.sh: bin/ottla is missing: run make build" >&2; exit 1; }
WORK=$(mktemp -d "${TMPDIR:-/tmp}/ottla-pgo.XXXXXX")
broker=
trap '[ -z "$broker" ] || kill "$broker" 2>/dev/null || true; wait; rm -rf "$WORK"' EXIT
cd "$HERE"
go build -o "$WORK/load" ./cmd/load
"$HERE/../bin/ottla" serve --metrics 127.0.0.1:19192 -o listeners=PLAINTEXT://127.0.0.1:19190,CONTROLLER://127.0.0.1:19191 \
	-o process.roles=broker,controller -o node.id=1 -o controller.listener.names=CONTROLLER \
	-o controller.quorum.voters=1@127.0.0.1:19191 -o log.dirs="$WORK/data" > "$WORK/log" 2>&1 &
broker=$!
load() { "$WORK/load" -addr 127.0.0.1:19190 "$@"; }
for _ in $(seq 100); do load -requests 1 > /dev/null 2>&1 && break; sleep 0.1; done
topic=$(load -keep -size 16384 -requests 30000 | sed -n 's/^topic \([^:]*\):.*/\1/p')
curl -sf "http://127.0.0.1:19192/debug/pprof/profile?seconds=12" -o "$WORK/cpu.pprof" &
profile=$!
while kill -0 "$profile" 2>/dev/null; do
	load -size 16384 -requests 20000
	load -size 2048 -requests 40000
	load -kind fetch -topic "$topic" -size 16384 -requests 20000
done
wait "$profile"
cp "$WORK/cpu.pprof" "$HERE/../cmd/ottla/cpu.pprof"
