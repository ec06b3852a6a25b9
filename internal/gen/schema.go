package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// message is one schema: a record, or the key or value of one.
type message struct {
	APIKey           int16    `json:"apiKey"`
	Type             string   `json:"type"`
	Name             string   `json:"name"`
	ValidVersions    string   `json:"validVersions"`
	FlexibleVersions string   `json:"flexibleVersions"`
	Fields           []*field `json:"fields"`
	CommonStructs    []*field `json:"commonStructs"`

	valid, flexible versions
	structs         []*structType // the message's own first, then nested ones as they are met
}

// field is a field of a message or struct; a common struct has only a name and fields.
type field struct {
	Name             string          `json:"name"`
	Type             string          `json:"type"`
	Versions         string          `json:"versions"`
	NullableVersions string          `json:"nullableVersions"`
	TaggedVersions   string          `json:"taggedVersions"`
	Tag              *int            `json:"tag"`
	Default          json.RawMessage `json:"default"`
	Fields           []*field        `json:"fields"`

	versions versions
	nullable bool
	tagged   bool
	elem     string // type, or element type of an array
	array    bool
	always   bool        // in every version of the message
	nested   *structType // set if elem is a struct
}

// structType is a Go struct to be generated.
type structType struct {
	goName string
	fields []*field
}

// versions is a range; max is -1 for "none" and maxVersion for an open end.
type versions struct{ min, max int16 }

const maxVersion = 32767

func parseVersions(s string) (versions, error) {
	if s == "none" || s == "" {
		return versions{0, -1}, nil
	}
	if low, ok := strings.CutSuffix(s, "+"); ok {
		n, err := strconv.ParseInt(low, 10, 16)
		return versions{int16(n), maxVersion}, err
	}
	low, high, ok := strings.Cut(s, "-")
	if !ok {
		high = low
	}
	a, err := strconv.ParseInt(low, 10, 16)
	if err != nil {
		return versions{}, err
	}
	b, err := strconv.ParseInt(high, 10, 16)
	return versions{int16(a), int16(b)}, err
}

func (v versions) empty() bool { return v.max < v.min }

// covers tells that v holds every version of w.
func (v versions) covers(w versions) bool { return !v.empty() && v.min <= w.min && v.max >= w.max }

func readSchema(name string) (*message, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	m := &message{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, err
	}
	if m.valid, err = parseVersions(m.ValidVersions); err != nil {
		return nil, err
	}
	if m.flexible, err = parseVersions(m.FlexibleVersions); err != nil {
		return nil, err
	}
	common := map[string]*structType{}
	for _, c := range m.CommonStructs {
		common[c.Name] = &structType{goName: m.Name + c.Name, fields: c.Fields}
	}
	root := &structType{goName: m.Name, fields: m.Fields}
	m.structs = append(m.structs, root)
	if err := m.resolve(root, common); err != nil {
		return nil, err
	}
	return m, nil
}

// resolve parses a struct's fields and collects the structs below it.
func (m *message) resolve(s *structType, common map[string]*structType) error {
	for _, f := range s.fields {
		if err := m.resolveField(f, common); err != nil {
			return fmt.Errorf("%s.%s: %w", s.goName, f.Name, err)
		}
	}
	return nil
}

func (m *message) resolveField(f *field, common map[string]*structType) error {
	tagged, err := parseVersions(f.TaggedVersions)
	if err != nil {
		return err
	}
	if f.Versions == "" {
		f.Versions = f.TaggedVersions
	}
	if f.versions, err = parseVersions(f.Versions); err != nil {
		return err
	}
	nullable, err := parseVersions(f.NullableVersions)
	if err != nil {
		return err
	}
	// Partial ranges don't occur in these schemas, and supporting them would cost clarity.
	f.tagged, f.nullable = !tagged.empty(), !nullable.empty()
	if f.tagged && (!tagged.covers(f.versions) || f.Tag == nil) {
		return fmt.Errorf("tagged versions %q don't cover versions %q", f.TaggedVersions, f.Versions)
	}
	if f.nullable && !nullable.covers(f.versions) {
		return fmt.Errorf("nullable versions %q don't cover versions %q", f.NullableVersions, f.Versions)
	}
	f.always = f.versions.covers(m.valid)
	f.elem, f.array = strings.CutPrefix(f.Type, "[]")
	if _, ok := primitives[f.elem]; ok {
		return nil
	}
	if c, ok := common[f.elem]; ok {
		f.nested = c
	} else {
		if len(f.Fields) == 0 {
			return fmt.Errorf("unknown type %q", f.elem)
		}
		f.nested = &structType{goName: m.Name + f.elem, fields: f.Fields}
		common[f.elem] = f.nested
	}
	for _, known := range m.structs {
		if known == f.nested {
			return nil
		}
	}
	m.structs = append(m.structs, f.nested)
	return m.resolve(f.nested, common)
}

// initialisms are words that Go writes in capitals.
var initialisms = map[string]string{"Id": "ID", "Ids": "IDs", "Isr": "ISR", "Elr": "ELR"}

// goName is a field's name as an exported Go identifier.
func goName(name string) string {
	var words []string
	start := 0
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			words = append(words, name[start:i])
			start = i
		}
	}
	words = append(words, name[start:])
	var b strings.Builder
	for _, w := range words {
		first, size := utf8.DecodeRuneInString(w)
		w = string(unicode.ToUpper(first)) + w[size:]
		if s, ok := initialisms[w]; ok {
			w = s
		}
		b.WriteString(w)
	}
	return b.String()
}

// snakeName is a message's name as part of a file's name.
func snakeName(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
