package diff

import (
	"fmt"
	"strconv"
	"strings"
)

// Transcript is what a case saw: its steps in the order of the script.
type Transcript struct {
	Case  string
	Steps []Step
}

// Step is one request and its answer, or what became of a connection.
type Step struct {
	// Title names the request, its version and what the script says about it.
	Title string
	Lines []Line
}

// Line is one structure of an answer with its scalar fields.
type Line struct {
	// Path leads to the structure, such as Topics[0].Partitions[1]; empty for the answer itself.
	// Lists whose order means nothing are addressed by key, see lists.go.
	Path   string
	Fields []Field
}

// Field is a scalar of a structure. Value has no space outside of quotes.
type Field struct{ Name, Value string }

// Text renders a transcript as the golden file keeps it.
func (t *Transcript) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", t.Case)
	for _, s := range t.Steps {
		fmt.Fprintf(&b, "\n> %s\n", s.Title)
		for _, l := range s.Lines {
			b.WriteString(l.text())
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (l Line) text() string {
	path := l.Path
	if path == "" {
		path = "."
	}
	var b strings.Builder
	b.WriteString(path + ":")
	for _, f := range l.Fields {
		b.WriteString(" " + f.Name + "=" + f.Value)
	}
	return b.String()
}

// ParseTranscript reads what Text wrote.
func ParseTranscript(text string) (*Transcript, error) {
	t := &Transcript{}
	for i, line := range strings.Split(text, "\n") {
		switch {
		case line == "":
		case strings.HasPrefix(line, "# "):
			t.Case = line[2:]
		case strings.HasPrefix(line, "> "):
			t.Steps = append(t.Steps, Step{Title: line[2:]})
		case len(t.Steps) == 0:
			return nil, fmt.Errorf("line %d: stands before the first step", i+1)
		default:
			l, err := parseLine(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			s := &t.Steps[len(t.Steps)-1]
			s.Lines = append(s.Lines, l)
		}
	}
	return t, nil
}

func parseLine(line string) (Line, error) {
	end := strings.Index(line, ": ")
	if end < 0 {
		if !strings.HasSuffix(line, ":") {
			return Line{}, fmt.Errorf("no path in %q", line)
		}
		end = len(line) - 1
	}
	l := Line{Path: strings.TrimPrefix(line[:end], ".")}
	rest := strings.TrimPrefix(line[end+1:], " ")
	for rest != "" {
		name, value, ok := strings.Cut(rest, "=")
		if !ok {
			return Line{}, fmt.Errorf("no value in %q", rest)
		}
		n := valueLen(value)
		l.Fields = append(l.Fields, Field{name, value[:n]})
		rest = strings.TrimPrefix(value[n:], " ")
	}
	return l, nil
}

// valueLen is how far the value at the start of s reaches: to the next space outside of quotes.
func valueLen(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			return i
		case '"':
			if q, err := strconv.QuotedPrefix(s[i:]); err == nil {
				i += len(q) - 1
			}
		}
	}
	return len(s)
}
