// Package chart draws bars of ratios as SVG.
package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Row is a group of bars with one name.
type Row struct {
	Name string
	Bars []Bar
}

// Bar is one ratio; Series is the index of its series.
type Bar struct {
	Series int
	Value  float64
}

// Sizes, in pixels.
const (
	nameWidth  = 330
	plotWidth  = 560
	valueWidth = 60
	barHeight  = 11
	rowGap     = 9
	top        = 64
	bottom     = 28
)

// The axis is logarithmic: half and double are equally far from 1.
const least, most = 0.01, 10.0

var colours = []string{"#1b6ca8", "#e08a1e", "#5a9e4b", "#8a5aa8"}

// x is where a value stands, from the left of the plot; values outside of the axis stand at its end.
func x(v float64) float64 {
	v = min(max(v, least), most)
	return plotWidth * math.Log(v/least) / math.Log(most/least)
}

// SVG renders rows. Bars begin at 1 and go left for less, right for more.
func SVG(title string, series []string, rows []Row) string {
	height := top + bottom
	for _, r := range rows {
		height += len(r.Bars)*barHeight + rowGap
	}
	width := nameWidth + plotWidth + valueWidth
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="10" y="20" font-size="14">%s</text>`+"\n", html.EscapeString(title))
	for i, s := range series {
		left := nameWidth + i*200
		fmt.Fprintf(&b, `<rect x="%d" y="32" width="10" height="10" fill="%s"/><text x="%d" y="41">%s</text>`+"\n", left, colours[i%len(colours)], left+14, html.EscapeString(s))
	}
	for _, v := range []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10} {
		colour := "#dddddd"
		if v == 1 {
			colour = "#333333"
		}
		left := nameWidth + x(v)
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="%s"/><text x="%.1f" y="%d" text-anchor="middle">%g</text>`+"\n",
			left, top-6, left, height-bottom, colour, left, height-bottom+14, v)
	}
	y := top
	for _, r := range rows {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", nameWidth-8, y+(len(r.Bars)*barHeight)/2+4, html.EscapeString(r.Name))
		for _, bar := range r.Bars {
			from, to := x(1), x(bar.Value)
			fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%d" font-size="9">%.2f</text>`+"\n",
				nameWidth+min(from, to), y, math.Abs(to-from), barHeight-2, colours[bar.Series%len(colours)], nameWidth+max(from, to)+3, y+barHeight-3, bar.Value)
			y += barHeight
		}
		y += rowGap
	}
	b.WriteString("</svg>\n")
	return b.String()
}
