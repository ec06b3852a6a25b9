#!/usr/bin/env bash
# run.sh BOOTSTRAP: the matrix of ../cells with kafka-go.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
cd "$HERE" && go build -o "$CACHE/kafka-go" .
play kafka-go "$CACHE/kafka-go" "$BOOTSTRAP"
