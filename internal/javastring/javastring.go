// Package javastring measures strings as Java does: in UTF-16 units. Kafka's limits and its placing of
// groups are defined by them. Its functions share nothing.
package javastring

// Len is Java's String.length: runes beyond the basic plane count twice.
func Len(s string) int {
	n := 0
	for _, r := range s {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}
