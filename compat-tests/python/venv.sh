# Sourced after ../lib.sh: venv NAME REQUIREMENT... makes a Python environment once and prints its interpreter.
venv() {
	local d=$CACHE/venv-$1; shift
	"$ROOT/scripts/install-tools.sh" python
	if [ ! -f "$d/.complete" ]; then
		rm -rf "$d"; python3 -m venv "$d" >&2 && "$d/bin/pip" install -q --disable-pip-version-check "$@" >&2 && touch "$d/.complete"
	fi
	echo "$d/bin/python"
}
