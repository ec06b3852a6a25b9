//go:build !race

package ottla_test

const raceEnabled = false
