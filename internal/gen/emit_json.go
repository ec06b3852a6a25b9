package main

import (
	"bytes"
	"fmt"
	"strings"
)

// jsonSource is the part of json_gen.go that is the same for all schemas.
const jsonSource = `package %s

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

func appendJSONInt[T int8 | int16 | uint16 | int32 | int64](dst []byte, i T) []byte {
	return strconv.AppendInt(dst, int64(i), 10)
}

func appendJSONBool(dst []byte, b bool) []byte { return strconv.AppendBool(dst, b) }

// appendJSONDouble writes a number as Java does.
func appendJSONDouble(dst []byte, f float64) []byte {
	if a := math.Abs(f); a == 0 || a >= 1e-3 && a < 1e7 {
		text := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return append(dst, text...)
	}
	mantissa, exponent, ok := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
	if !ok {
		return append(dst, mantissa...) // No number, or not a finite one.
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	e, _ := strconv.Atoi(exponent)
	return strconv.AppendInt(append(append(dst, mantissa...), 'E'), int64(e), 10)
}

// appendJSONComma parts a field from one before it.
func appendJSONComma(dst []byte) []byte {
	if dst[len(dst)-1] == '{' {
		return dst
	}
	return append(dst, ',')
}

func appendJSONUUID(dst []byte, id [16]byte) []byte {
	dst = base64.RawURLEncoding.AppendEncode(append(dst, '"'), id[:])
	return append(dst, '"')
}

func appendJSONBytes(dst, b []byte) []byte {
	dst = base64.StdEncoding.AppendEncode(append(dst, '"'), b)
	return append(dst, '"')
}

// AppendJSONString appends a string in quotes, escaped as Kafka's tools do.
func AppendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\b':
			dst = append(dst, '\\', 'b')
		case r == '\f':
			dst = append(dst, '\\', 'f')
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
`

// jsonFile returns json_gen.go: AppendJSON of every message, which writes what Kafka's generated
// JSON converters write: the fields of the version in the schema's order, of the tagged ones only
// those that differ from their defaults.
func jsonFile(pkg string, all []*message) string {
	var b strings.Builder
	b.WriteString(header)
	fmt.Fprintf(&b, jsonSource, pkg)
	for _, m := range all {
		e := &emitter{m: m, out: bytes.Buffer{}}
		e.p("\n// AppendJSON appends the fields that the version has as JSON, named as in Kafka's schema.")
		e.p("func (v *%s) AppendJSON(dst []byte, version int16) []byte { return v.appendJSON(dst, version) }\n", m.Name)
		for _, s := range m.structs {
			e.jsonFunc(s)
		}
		b.WriteString(e.out.String())
	}
	return b.String()
}

// jsonFunc writes the method that renders a struct.
func (e *emitter) jsonFunc(s *structType) {
	e.p("func (v *%s) appendJSON(dst []byte, version int16) []byte {", s.goName)
	e.p("dst = append(dst, '{')")
	// Until a field has come that is always there, it isn't known whether there is one.
	known := false
	for i, f := range s.fields {
		comma := ","
		switch {
		case i == 0:
			comma = ""
		case !known:
			comma = "?"
		}
		known = known || f.always && !f.tagged
		e.when(f, func() {
			if f.tagged {
				e.p("if %s {", f.differsFromDefault("v"))
				defer e.p("}")
			}
			if comma == "?" {
				e.p("dst = appendJSONComma(dst)")
				comma = ""
			}
			e.p("dst = append(dst, `%s\"%s\":`...)", comma, jsonName(f.Name))
			e.jsonField(f)
		})
	}
	e.p("return append(dst, '}')")
	e.p("}\n")
}

// jsonName is a field's name in Kafka's JSON: the schema's with a small first letter.
func jsonName(name string) string { return strings.ToLower(name[:1]) + name[1:] }

func (e *emitter) jsonField(f *field) {
	name := "v." + goName(f.Name)
	if f.nullable {
		e.p("if %s == nil {", name)
		e.p("dst = append(dst, `null`...)")
		e.p("} else {")
		defer e.p("}")
	}
	switch {
	case f.array:
		e.p("dst = append(dst, '[')")
		e.p("for i := range %s {", name)
		e.p("if i > 0 {\ndst = append(dst, ',')\n}")
		e.jsonValue(f, name+"[i]")
		e.p("}")
		e.p("dst = append(dst, ']')")
	case f.nullable && f.nested == nil && f.elem != "bytes":
		e.jsonValue(f, "*"+name)
	default:
		e.jsonValue(f, name)
	}
}

// jsonValue renders one value that isn't null.
func (e *emitter) jsonValue(f *field, value string) {
	switch {
	case f.nested != nil:
		e.p("dst = %s.appendJSON(dst, version)", value)
	case f.elem == "bool", f.elem == "float64", f.elem == "string", f.elem == "bytes", f.elem == "uuid":
		e.p("dst = %s(dst, %s)", map[string]string{
			"bool": "appendJSONBool", "float64": "appendJSONDouble",
			"string": "AppendJSONString", "bytes": "appendJSONBytes", "uuid": "appendJSONUUID",
		}[f.elem], value)
	default:
		e.p("dst = appendJSONInt(dst, %s)", value)
	}
}
