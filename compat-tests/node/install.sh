# Sourced after ../lib.sh: node_modules NAME PACKAGE... installs packages once, with a Node that has zstd, into the cache, copies the
# client's program and the cells beside them, and prints the folder.
node_modules() {
	local d=$CACHE/node-$1; shift
	"$ROOT/scripts/install-tools.sh" node
	if [ "$(cat "$d/.complete" 2>/dev/null)" != "$*" ]; then
		rm -rf "$d"; mkdir -p "$d"
		(cd "$d" && echo '{"private":true,"type":"module"}' > package.json && npm install --silent --no-audit --no-fund "$@" >&2) && echo "$*" > "$d/.complete"
	fi
	cp "$ROOT/compat-tests/node/cells.mjs" "$HERE/client.mjs" "$d/"
	echo "$d"
}
