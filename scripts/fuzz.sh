#!/usr/bin/env bash
# fuzz.sh TIME [PACKAGE-PATTERN]: runs every fuzz target of the module for TIME each; stops at the first finding.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?time, such as 30s}; pattern=${2:-.}
git ls-files '*_test.go' | grep -E "$pattern" | xargs grep -oE '^func Fuzz[A-Za-z0-9_]+' | sed 's/:func /\t/' |
while IFS=$'\t' read -r file target; do
	package=./$(dirname "$file")
	echo "== $package $target"
	go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time" </dev/null
done
