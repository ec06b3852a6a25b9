package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestSVG(t *testing.T) {
	svg := SVG("a < b & c", []string{"one", "two"}, []Row{{"first & last", []Bar{{0, 0.5}, {1, 20}}}, {"second", []Bar{{1, 0.0001}}}})
	d := xml.NewDecoder(strings.NewReader(svg))
	rects := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			rects++
		}
	}
	if want := 1 + 2 + 3; rects != want { // background, series, bars
		t.Errorf("%d rectangles, want %d", rects, want)
	}
	for _, want := range []string{"a &lt; b &amp; c", "first &amp; last", ">20.00<", ">0.50<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q isn't there", want)
		}
	}
}

func TestX(t *testing.T) {
	if d := x(1) - x(0.5) - (x(2) - x(1)); math.Abs(d) > 1e-9 {
		t.Errorf("half and double differ by %g", d)
	}
	for v, want := range map[float64]float64{0.01: 0, 0.0001: 0, 10: plotWidth, 1000: plotWidth} {
		if got := x(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("x(%g) = %g, want %g", v, got, want)
		}
	}
}
