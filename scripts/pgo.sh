#!/usr/bin/env bash
# pgo.sh [FILE]: profiles a node under the raw loads of bench/ and writes what the compiler optimises by to FILE, by default
# cmd/ottla/default.pgo, which go build takes by itself. Takes a minute; the next build compiles everything anew.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=$(realpath -m "${1:-cmd/ottla/default.pgo}")
work=$(mktemp -d "${TMPDIR:-/tmp}/ottla-pgo.XXXXXX")
pid=
trap '[ -z "$pid" ] || { kill "$pid"; wait "$pid" || true; }; rm -rf "$work"' EXIT
go build -pgo=off -o "$work/ottla" ./cmd/ottla
(cd bench && go build -o "$work/load" ./cmd/load)
free_port() { local p; for ((p = 20000 + RANDOM % 10000; ; p++)); do (exec 3<> "/dev/tcp/127.0.0.1/$p") 2> /dev/null || break; done; echo "$p"; }
port=$(free_port)
metrics=$(free_port)
"$work/ottla" serve -o listeners=PLAINTEXT://127.0.0.1:"$port" -o log.dirs="$work/data" --metrics 127.0.0.1:"$metrics" 2> "$work/log" &
pid=$!
for ((i = 0; i < 100; i++)); do grep -q msg=ready "$work/log" && break; sleep 0.1; done
load() { "$work/load" -addr 127.0.0.1:"$port" -pid "$pid" "$@"; }
for ((i = 0; i < 8; i++)); do curl -sf -o "$work/$i.pprof" "http://127.0.0.1:$metrics/debug/pprof/profile?seconds=5"; done &
profiling=$!
load -kind produce -size 2048 -requests 150000
load -kind produce -size 2048 -requests 60000 -acks -1 -connections 50 -depth 1
load -kind produce -size 16384 -requests 40000 -acks -1
load -kind produce -size 524288 -requests 1500
topic=$(load -kind produce -size 16384 -requests 16384 -keep | sed -n 's/^topic \([^:]*\):.*/\1/p')
load -kind fetch -size 16384 -requests 150000 -topic "$topic"
load -kind fetch -size 1048576 -requests 6000 -topic "$topic"
load -kind produce -size 2048 -requests 100000 -acks -1 -connections 10
wait "$profiling"
go tool pprof -proto "$work"/*.pprof > "$profile"
ls -l "$profile"
