// Package hostile attacks a running broker while a client that behaves works with it, and looks at the process from
// outside: it must stay up, within its memory, without an error in its log, and the client must notice nothing.
//
// OTTLA_BIN names the binary (make build puts it in bin/ottla). The number of frames of the largest test is set by
// -frames or OTTLA_HOSTILE_FRAMES, its random choices by -seed, which is logged.
package hostile
