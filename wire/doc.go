// Package wire turns bytes into requests and replies into bytes. It knows the Kafka protocol's
// frames, headers and versions, and no topic and no log.
//
// A conn is one connection as a machine without I/O. A link drives a conn: it binds it to a
// transport, a memory budget and the goroutine that runs the connection's requests. Two transports
// exist: gnet's event loops for plaintext sockets, and net.Conn with a goroutine a connection for
// TLS, for systems without gnet and for tests.
//
// Goroutines: an event loop reads bytes and cuts frames, and runs what needn't wait. For the rest a
// connection borrows one goroutine, which decodes and calls the Handler, one request at a time, and
// which reads the connection as well while it is busy; an idle or parked connection has none.
// Replies are written by whoever completes the oldest unanswered request, never waiting for the
// client; what the socket doesn't take is queued and sent when it becomes writable.
//
// Locks, in this order: link.mu, output.mu; Budget.mu and the others are leaves. None is held over
// disk I/O or a call of the Handler.
package wire
