//go:build race

package wire

// raceEnabled: pools lose some of what they have.
const raceEnabled = true
