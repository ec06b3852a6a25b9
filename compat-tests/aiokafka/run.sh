#!/usr/bin/env bash
# run.sh BOOTSTRAP: the matrix of ../cells with aiokafka.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$ROOT/compat-tests/python/venv.sh"
export PYTHONPATH=$ROOT/compat-tests/python PYTHONDONTWRITEBYTECODE=1
python=$(venv aiokafka 'aiokafka[lz4,snappy,zstd]==0.14.0')
play aiokafka "$python" "$HERE/client.py" "$BOOTSTRAP"
