#!/usr/bin/env bash
# install-tools.sh WHAT...: installs what a test needs on a bare Debian or Ubuntu machine (go, java, python, node, cc).
# Does nothing for what is already there. Needs root (or sudo) only when something is missing.
set -euo pipefail
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
updated=
apt_install() {
	command -v apt-get >/dev/null || { echo "missing: $*; install it by hand" >&2; exit 1; }
	[ -n "$updated" ] || { as_root apt-get update -qq; updated=1; }
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
for what in "$@"; do
	case $what in
	go) # an older Go fetches the toolchain that go.mod asks for by itself (GOTOOLCHAIN=auto)
		command -v go >/dev/null || apt_install golang-go ca-certificates git ;;
	java) command -v java >/dev/null && command -v javac >/dev/null && command -v mvn >/dev/null || apt_install openjdk-17-jdk-headless maven ;;
	python) python3 -c 'import venv, ensurepip' 2>/dev/null || apt_install python3 python3-venv python3-pip ;;
	node) command -v npm >/dev/null || apt_install nodejs npm ;;
	cc) command -v g++ >/dev/null && command -v make >/dev/null || apt_install build-essential ;;
	*) echo "install-tools.sh: unknown: $what" >&2; exit 2 ;;
	esac
done
