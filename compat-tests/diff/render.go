package diff

import (
	"bytes"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// renderer turns decoded answers into lines.
type renderer struct {
	aliases   *aliases
	fields    map[string]fieldRule
	types     map[string]fieldRule
	unordered map[string][]string
	foreign   map[string]string
	// own says whether a name belongs to the case.
	own func(name string) bool
}

func newRenderer(a *aliases, own func(string) bool) *renderer {
	return &renderer{
		aliases: a, fields: fieldRules(), types: typeRules(),
		unordered: unordered(), foreign: foreign(), own: own,
	}
}

// answer decodes and renders a response body.
func (r *renderer) answer(resp kmsg.Response, body []byte) []Line {
	if err := resp.ReadFrom(body); err != nil {
		return []Line{{Fields: []Field{{"Undecodable", strconv.Quote(err.Error())}, {"Hex", fmt.Sprintf("%x", body)}}}}
	}
	lines := r.structure("", reflect.ValueOf(resp).Elem())
	// What the decoder skips or accepts leniently would otherwise go unseen.
	if again := resp.AppendTo(nil); !bytes.Equal(again, body) {
		lines[0].Fields = append(lines[0].Fields, Field{"Bytes", fmt.Sprintf("%+d", len(body)-len(again))})
	}
	return lines
}

// structure renders a structure as one line of its scalars, followed by the lines of what it holds.
func (r *renderer) structure(path string, v reflect.Value) []Line {
	own := Line{Path: path}
	var below []Line
	t := v.Type()
	for i := range t.NumField() {
		f, name := v.Field(i), t.Field(i).Name
		if name == "Version" && path == "" {
			continue
		}
		if tags, ok := f.Interface().(kmsg.Tags); ok {
			if tags.Len() > 0 {
				own.Fields = append(own.Fields, Field{"UnknownTags", renderTags(&tags)})
			}
			continue
		}
		where := strings.TrimPrefix(path+"."+name, ".")
		for f.Kind() == reflect.Pointer && !f.IsNil() {
			f = f.Elem()
		}
		switch {
		case f.Kind() == reflect.Struct:
			below = append(below, r.structure(where, f)...)
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
			if _, filtered := r.foreign[t.Name()+"."+name]; f.Len() == 0 && !filtered {
				own.Fields = append(own.Fields, Field{name, emptyList(f)})
			}
			below = append(below, r.list(where, t.Name()+"."+name, f)...)
		case name == "RecordBatches":
			n, lines := r.records(where, f.Bytes())
			own.Fields = append(own.Fields, Field{name, n})
			below = append(below, lines...)
		case name == "Value" && namesDirectory(v):
			own.Fields = append(own.Fields, Field{name, "<dirs>"})
		default:
			own.Fields = append(own.Fields, Field{name, r.scalar(t.Name(), name, f)})
		}
	}
	return append([]Line{own}, below...)
}

// namesDirectory says whether a structure is a setting whose value is a path of the machine.
func namesDirectory(v reflect.Value) bool {
	f := v.FieldByName("Name")
	return f.IsValid() && f.Kind() == reflect.String && f.String() == "log.dirs"
}

// list renders the elements of a list of structures, addressed by index or by key.
func (r *renderer) list(path, field string, list reflect.Value) []Line {
	keys, keyed := r.unordered[field]
	ownName, filtered := r.foreign[field]
	type element struct {
		label string
		value reflect.Value
	}
	var elements []element
	for i := range list.Len() {
		e := element{strconv.Itoa(i), list.Index(i)}
		if filtered && !r.isOwn(e.value.FieldByName(ownName)) {
			continue
		}
		if keyed {
			e.label = r.label(e.value, keys)
		}
		elements = append(elements, e)
	}
	if keyed {
		sort.SliceStable(elements, func(i, j int) bool { return labelLess(elements[i].label, elements[j].label) })
	}
	var lines []Line
	seen := map[string]int{}
	for _, e := range elements {
		seen[e.label]++
		if n := seen[e.label]; n > 1 { // A key that appears twice is itself worth showing.
			e.label += "#" + strconv.Itoa(n)
		}
		lines = append(lines, r.structure(path+"["+e.label+"]", e.value)...)
	}
	return lines
}

// label is the key of an element: its key fields that say something.
func (r *renderer) label(v reflect.Value, keys []string) string {
	var parts []string
	for _, key := range keys {
		f := v.FieldByName(key)
		if f.IsZero() && len(keys) > 1 {
			continue
		}
		if f.Kind() == reflect.Array && len(parts) > 0 {
			continue // An id is needed only where no name is; its alias is given in the order of the names.
		}
		for f.Kind() == reflect.Pointer && !f.IsNil() {
			f = f.Elem()
		}
		part := r.scalar(v.Type().Name(), key, f)
		if unquoted, err := strconv.Unquote(part); err == nil && !strings.ContainsAny(unquoted, " :\"") {
			part = unquoted
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

func labelLess(a, b string) bool {
	m, errA := strconv.Atoi(a)
	n, errB := strconv.Atoi(b)
	if errA == nil && errB == nil {
		return m < n
	}
	return a < b
}

// scalar renders a value without structure; f is no pointer unless it is a nil one.
func (r *renderer) scalar(typeName, name string, f reflect.Value) string {
	if f.Kind() == reflect.Pointer {
		return "null"
	}
	rule := r.types[typeName+"."+name]
	if rule == nil {
		rule = r.fields[name]
	}
	switch f.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if rule != nil {
			return rule(r.aliases, f.Int())
		}
		if strings.HasSuffix(name, "ErrorCode") {
			return errorCode(int16(f.Int()))
		}
		if s, ok := f.Interface().(fmt.Stringer); ok {
			return fmt.Sprintf("%d(%s)", f.Int(), s)
		}
		return strconv.FormatInt(f.Int(), 10)
	case reflect.Uint16, reflect.Uint32:
		if rule != nil {
			return rule(r.aliases, int64(f.Uint()))
		}
		return strconv.FormatUint(f.Uint(), 10)
	case reflect.String:
		if rule != nil {
			return rule(r.aliases, f.String())
		}
		return strconv.Quote(r.aliases.text(f.String()))
	case reflect.Bool:
		return strconv.FormatBool(f.Bool())
	case reflect.Float64:
		return strconv.FormatFloat(f.Float(), 'g', -1, 64)
	case reflect.Array: // Only ids are arrays.
		return r.aliases.id(f.Interface().([16]byte))
	case reflect.Slice:
		return r.scalars(typeName, name, f)
	default:
		return fmt.Sprintf("<%s>", f.Kind())
	}
}

// scalars renders bytes as text and other lists in brackets.
func (r *renderer) scalars(typeName, name string, f reflect.Value) string {
	if f.Type().Elem().Kind() == reflect.Uint8 {
		if f.IsNil() {
			return "null"
		}
		return strconv.Quote(r.aliases.text(string(f.Bytes())))
	}
	if f.Len() == 0 {
		return emptyList(f)
	}
	parts := make([]string, f.Len())
	for i := range parts {
		parts[i] = r.scalar(typeName, name, f.Index(i))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func emptyList(f reflect.Value) string {
	if f.IsNil() {
		return "none"
	}
	return "[]"
}

// isOwn says whether the name in a field belongs to the case. A null one does: it stands for an id.
func (r *renderer) isOwn(f reflect.Value) bool {
	if f.Kind() == reflect.Pointer {
		if f.IsNil() {
			return true
		}
		f = f.Elem()
	}
	return r.own(f.String())
}

func errorCode(code int16) string {
	if code == 0 {
		return "0"
	}
	name := "UNKNOWN"
	if e := kerr.TypedErrorForCode(code); e != nil {
		name = e.Message
	}
	return fmt.Sprintf("%d(%s)", code, name)
}

func renderTags(tags *kmsg.Tags) string {
	var parts []string
	tags.Each(func(key uint32, value []byte) { parts = append(parts, fmt.Sprintf("%d:%x", key, value)) })
	return "{" + strings.Join(parts, ",") + "}"
}
