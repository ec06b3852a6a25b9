package stat

import "testing"

func TestMedianAndSpread(t *testing.T) {
	for _, c := range []struct {
		in             []float64
		median, spread float64
	}{{nil, 0, 0}, {[]float64{4}, 4, 0}, {[]float64{5, 1, 4}, 4, 0.75}, {[]float64{1, 3}, 2, 0.5}} {
		if m, s := Median(c.in), Spread(c.in); m != c.median || s != c.spread {
			t.Errorf("%v: got %v, %v; want %v, %v", c.in, m, s, c.median, c.spread)
		}
	}
}

func TestPercentile(t *testing.T) {
	in := make([]int, 100)
	for i := range in {
		in[i] = i + 1
	}
	for p, want := range map[float64]int{0: 1, 50: 50, 99: 99, 99.9: 100, 100: 100} {
		if got := Percentile(in, p); got != want {
			t.Errorf("p%v: got %d, want %d", p, got, want)
		}
	}
	if Percentile([]int(nil), 50) != 0 {
		t.Error("none must give 0")
	}
}
