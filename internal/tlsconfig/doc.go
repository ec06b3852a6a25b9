// Package tlsconfig makes crypto/tls configurations from Kafka's ssl.* keys: for listeners, and for the clients with
// which nodes reach each other's.
//
// It owns the formats of stores of keys and certificates (PEM, PKCS#12, JKS), the names of protocols and cipher suites,
// and the words for what is wrong with them. Errors are one line, name the listener, the key and the file, and never
// a password. It opens no file and no socket itself, and keeps no state but for Reloadable, which is safe for
// concurrent use.
package tlsconfig
