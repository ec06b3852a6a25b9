package diff

import (
	"fmt"
	"path"
	"strings"
)

// Difference is one place where a transcript departs from the golden one.
type Difference struct {
	Case string
	// Step counts from 1; Title is the step's.
	Step  int
	Title string
	// Path and Field say where in the answer; Field is empty if the whole structure is missing or extra.
	Path, Field string
	Want, Got   string
}

func (d Difference) String() string {
	where := d.Path
	if d.Field != "" {
		where = strings.TrimPrefix(where+"."+d.Field, ".")
	}
	return fmt.Sprintf("step %d (%s) %s: want %s, got %s", d.Step, d.Title, where, d.Want, d.Got)
}

// absent stands for a structure, field or step that one side doesn't have.
const absent = "nothing"

// Compare lists the differences between a golden transcript and another one, without those that
// allowed covers.
func Compare(want, got *Transcript, allowed []Deliberate) []Difference {
	var out []Difference
	add := func(d Difference) {
		d.Case = want.Case
		for _, a := range allowed {
			if a.covers(d) {
				return
			}
		}
		out = append(out, d)
	}
	for i := range max(len(want.Steps), len(got.Steps)) {
		switch {
		case i >= len(got.Steps):
			add(Difference{Step: i + 1, Title: want.Steps[i].Title, Want: "an answer", Got: absent})
		case i >= len(want.Steps):
			add(Difference{Step: i + 1, Title: got.Steps[i].Title, Want: absent, Got: "an answer"})
		default:
			compareStep(i+1, want.Steps[i], got.Steps[i], add)
		}
	}
	return out
}

func compareStep(n int, want, got Step, add func(Difference)) {
	if want.Title != got.Title {
		add(Difference{Step: n, Title: want.Title, Field: "title", Want: want.Title, Got: got.Title})
	}
	byPath := make(map[string]Line, len(got.Lines))
	for _, l := range got.Lines {
		byPath[l.Path] = l
	}
	for _, w := range want.Lines {
		g, ok := byPath[w.Path]
		if !ok {
			add(Difference{Step: n, Title: want.Title, Path: w.Path, Want: w.text(), Got: absent})
			continue
		}
		delete(byPath, w.Path)
		compareLine(n, want.Title, w, g, add)
	}
	for _, g := range got.Lines {
		if _, extra := byPath[g.Path]; extra {
			delete(byPath, g.Path)
			add(Difference{Step: n, Title: want.Title, Path: g.Path, Want: absent, Got: g.text()})
		}
	}
}

func compareLine(n int, title string, want, got Line, add func(Difference)) {
	values := make(map[string]string, len(got.Fields))
	for _, f := range got.Fields {
		values[f.Name] = f.Value
	}
	for _, w := range want.Fields {
		g, ok := values[w.Name]
		if !ok {
			g = absent
		}
		delete(values, w.Name)
		if g != w.Value {
			add(Difference{Step: n, Title: title, Path: want.Path, Field: w.Name, Want: w.Value, Got: g})
		}
	}
	for _, g := range got.Fields {
		if _, extra := values[g.Name]; extra {
			add(Difference{Step: n, Title: title, Path: want.Path, Field: g.Name, Want: absent, Got: g.Value})
		}
	}
}

// covers reports whether a difference is one that was chosen.
func (a Deliberate) covers(d Difference) bool {
	return (a.Title == "" || glob(a.Title, d.Title)) && glob(a.Case, d.Case) && glob(a.Path, d.Path) && glob(a.Field, d.Field)
}

// glob matches with path.Match, in which brackets of list indexes stand for themselves and a star
// passes slashes.
func glob(pattern, s string) bool {
	if pattern == "*" {
		return true
	}
	escape := strings.NewReplacer("[", "(", "]", ")", "/", "!")
	ok, err := path.Match(escape.Replace(pattern), escape.Replace(s))
	return err == nil && ok
}
