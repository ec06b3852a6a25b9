package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ValueError is a value that a key doesn't take. Its text is Kafka's ConfigException.
type ValueError struct {
	// Name and Value are what was set; Null is set for a null value.
	Name, Value string
	Null        bool
	// Reason may be empty.
	Reason string
	// Plain, if set, is the whole text: some of Kafka's checks don't name the value.
	Plain string
}

// Error implements error.
func (e *ValueError) Error() string {
	if e.Plain != "" {
		return e.Plain
	}
	v := e.Value
	if e.Null {
		v = "null"
	}
	s := "Invalid value " + v + " for configuration " + e.Name
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// Value is a parsed value of any type; which field counts is told by the key's type.
type Value struct {
	// Null is a default of null; the other fields are then zero.
	Null bool
	Bool bool
	// Int holds INT, SHORT and LONG.
	Int    int64
	Double float64
	// Text holds STRING, CLASS and PASSWORD, without the space around it.
	Text string
	List []string
}

// Parse reads a text as the key's type and applies the key's validator (ConfigDef.parseValue).
// A null text is refused where Kafka refuses it.
func (k *Key) Parse(text *string) (Value, error) {
	v, err := k.parseType(text)
	if err != nil {
		return Value{}, err
	}
	if k.Validator == nil {
		return v, nil
	}
	if _, ok := k.Validator.(listOf); ok {
		v.List = distinct(v.List)
	}
	return v, k.Validator.check(k, v)
}

// defaultValue is the parsed default; Null where there is none.
func (k *Key) defaultValue() Value {
	if !k.HasDefault {
		return Value{Null: true}
	}
	v, err := k.parseType(&k.Default)
	if err != nil {
		panic("config: default of " + k.Name + ": " + err.Error())
	}
	return v
}

func (k *Key) parseType(text *string) (Value, error) {
	if text == nil {
		return Value{Null: true}, nil
	}
	s := trimJava(*text)
	bad := func(reason string) error { return &ValueError{Name: k.Name, Value: *text, Reason: reason} }
	switch k.Type {
	case TypeBoolean:
		switch {
		case strings.EqualFold(s, "true"):
			return Value{Bool: true}, nil
		case strings.EqualFold(s, "false"):
			return Value{}, nil
		}
		return Value{}, bad("Expected value to be either true or false")
	case TypeInt, TypeShort, TypeLong:
		bits := map[Type]int{TypeInt: 32, TypeShort: 16, TypeLong: 64}[k.Type]
		n, err := parseJavaInt(s, bits)
		if err != nil {
			return Value{}, bad("Not a number of type " + k.Type.String())
		}
		return Value{Int: n}, nil
	case TypeDouble:
		f, err := parseJavaDouble(s)
		if err != nil {
			return Value{}, bad("Not a number of type DOUBLE")
		}
		return Value{Double: f}, nil
	case TypeList:
		return Value{List: SplitList(s)}, nil
	default:
		return Value{Text: s}, nil
	}
}

// Format is the canonical text of a parsed value (ConfigDef.convertToString), as described to
// clients; nil for null. Passwords come back as they are: hiding them is the caller's task.
func (k *Key) Format(v Value) *string {
	if v.Null {
		return nil
	}
	var s string
	switch k.Type {
	case TypeBoolean:
		s = strconv.FormatBool(v.Bool)
	case TypeInt, TypeShort, TypeLong:
		s = strconv.FormatInt(v.Int, 10)
	case TypeDouble:
		s = formatJavaDouble(v.Double)
	case TypeList:
		s = strings.Join(v.List, ",")
	default:
		s = v.Text
	}
	return &s
}

// SplitList splits a LIST text at commas and drops the space around the parts; an empty text is no parts.
func SplitList(s string) []string {
	s = trimJava(s)
	if s == "" {
		return nil
	}
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = trimJava(parts[i])
	}
	return parts
}

// distinct drops later duplicates.
func distinct(list []string) []string {
	seen := make(map[string]bool, len(list))
	out := list[:0:0]
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// trimJava is String.trim: it drops everything up to U+0020 at both ends.
func trimJava(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

// parseJavaInt is Integer.parseInt and its like: an optional sign and decimal digits.
func parseJavaInt(s string, bits int) (int64, error) {
	if strings.ContainsRune(s, '_') {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseInt(s, 10, bits)
}

// parseJavaDouble is Double.parseDouble but for hexadecimal floats.
func parseJavaDouble(s string) (float64, error) {
	t := strings.TrimLeft(s, "+-")
	switch t {
	case "NaN":
		return math.NaN(), nil
	case "Infinity":
		if strings.HasPrefix(s, "-") {
			return math.Inf(-1), nil
		}
		return math.Inf(1), nil
	}
	if t == "" || (t[0] != '.' && (t[0] < '0' || t[0] > '9')) || strings.ContainsAny(t, "_xX") {
		return 0, strconv.ErrSyntax
	}
	if n := len(s); strings.ContainsRune("dDfF", rune(s[n-1])) {
		s = s[:n-1]
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && math.IsInf(f, 0) {
		return f, nil
	}
	return f, err
}

// formatJavaDouble is Double.toString.
func formatJavaDouble(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0:
		return fmt.Sprintf("%.1f", f)
	}
	if a := math.Abs(f); a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.ContainsRune(s, '.') {
			s += ".0"
		}
		return s
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
	if !strings.ContainsRune(mantissa, '.') {
		mantissa += ".0"
	}
	n, err := strconv.Atoi(exp)
	if err != nil {
		panic("config: exponent " + exp)
	}
	return mantissa + "E" + strconv.Itoa(n)
}
