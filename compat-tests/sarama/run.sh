#!/usr/bin/env bash
# run.sh BOOTSTRAP: the matrix of ../cells with sarama.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
cd "$HERE" && go build -o "$CACHE/sarama" .
play sarama "$CACHE/sarama" "$BOOTSTRAP"
