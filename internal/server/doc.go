// Package server composes a node: it opens the parts in order, connects them, and closes them in
// the opposite order. Together with cmd it is the only place that knows every part; it decides
// nothing about records, groups or metadata itself.
//
// Order of start: sockets (clients are held back by the gate, ApiVersions is answered), log
// directories with recovery, metadata, this broker's registration, then the gate opens. What one
// part needs of another crosses through the small interfaces that the needing part declares;
// adapters.go and settings.go fill them.
package server
