#!/usr/bin/env bash
# run.sh BOOTSTRAP: the matrix of ../cells with kafka-python.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$ROOT/compat-tests/python/venv.sh"
export PYTHONPATH=$ROOT/compat-tests/python PYTHONDONTWRITEBYTECODE=1
python=$(venv kafka-python kafka-python==3.0.12 lz4 python-snappy zstandard)
play kafka-python "$python" "$HERE/client.py" "$BOOTSTRAP"
