// Package stat has the few statistics that the benchmark reports.
package stat

import (
	"cmp"
	"slices"
)

// Median is the middle value, the mean of the two middle ones of an even number; 0 of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Spread is the largest distance from the median as a share of it.
func Spread(values []float64) float64 {
	m := Median(values)
	if m == 0 {
		return 0
	}
	return max(slices.Max(values)-m, m-slices.Min(values)) / m
}

// Percentile is the smallest value that at least p percent of the sorted values don't exceed.
func Percentile[T cmp.Ordered](sorted []T, p float64) T {
	var zero T
	if len(sorted) == 0 {
		return zero
	}
	i := int(float64(len(sorted))*p/100+0.999999) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}
