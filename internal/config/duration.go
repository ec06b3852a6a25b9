package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

var errDuration = errors.New("not a duration of the form PnDTnHnMn.nS")

// ParseISODuration reads an ISO-8601 duration as java.time.Duration.parse does. One that is too long
// for a time.Duration is cut to the longest.
func ParseISODuration(s string) (time.Duration, error) {
	s = strings.ToUpper(s)
	negative := false
	switch {
	case strings.HasPrefix(s, "-"):
		negative, s = true, s[1:]
	case strings.HasPrefix(s, "+"):
		s = s[1:]
	}
	if !strings.HasPrefix(s, "P") {
		return 0, errDuration
	}
	date, clock, hasClock := strings.Cut(s[1:], "T")
	var seconds float64
	n, rest, err := durationPart(date, 'D', 86400)
	if err != nil || rest != "" || hasClock && clock == "" || !hasClock && date == "" {
		return 0, errDuration
	}
	seconds += n
	for _, unit := range []struct {
		letter byte
		size   float64
	}{{'H', 3600}, {'M', 60}} {
		if n, clock, err = durationPart(clock, unit.letter, unit.size); err != nil {
			return 0, err
		}
		seconds += n
	}
	if clock != "" {
		if n, err = durationSeconds(clock); err != nil {
			return 0, err
		}
		seconds += n
	}
	if negative {
		seconds = -seconds
	}
	nanos := seconds * 1e9
	switch {
	case nanos >= math.MaxInt64:
		return math.MaxInt64, nil
	case nanos <= math.MinInt64:
		return math.MinInt64, nil
	}
	return time.Duration(nanos), nil
}

// durationPart takes a signed whole number that ends in letter from the front of s, if there is one.
func durationPart(s string, letter byte, size float64) (seconds float64, rest string, err error) {
	i := strings.IndexByte(s, letter)
	if i < 0 {
		return 0, s, nil
	}
	n, err := parseJavaInt(s[:i], 64)
	if err != nil {
		return 0, "", errDuration
	}
	return float64(n) * size, s[i+1:], nil
}

// durationSeconds reads seconds with at most nine digits of fraction.
func durationSeconds(s string) (float64, error) {
	s, ok := strings.CutSuffix(s, "S")
	whole, fraction, _ := strings.Cut(strings.Replace(s, ",", ".", 1), ".")
	if _, err := parseJavaInt(whole, 64); !ok || err != nil || len(fraction) > 9 || fraction != "" && !digits(fraction) {
		return 0, errDuration
	}
	if fraction == "" {
		fraction = "0"
	}
	return strconv.ParseFloat(whole+"."+fraction, 64)
}
