//go:build race

package ottla_test

// raceEnabled: pools lose some of what they have.
const raceEnabled = true
