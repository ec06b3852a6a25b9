package main

// appendFunc writes the method that encodes a struct.
func (e *emitter) appendFunc(s *structType) {
	e.p("func (v *%s) append(dst []byte, version int16) []byte {", s.goName)
	for _, f := range s.fields {
		if !f.tagged {
			e.when(f, func() { e.appendField(f, "dst") })
		}
	}
	if flexible := e.flexible(); flexible != "false" {
		e.appendTags(taggedFields(s), flexible)
	}
	e.p("return dst")
	e.p("}\n")
}

// appendTags writes the tagged fields that differ from their defaults.
func (e *emitter) appendTags(tagged []*field, flexible string) {
	if flexible != "true" {
		e.p("if %s {", flexible)
		defer e.p("}")
	}
	if len(tagged) == 0 {
		e.p("dst = appendUvarint(dst, 0)")
		return
	}
	e.p("var tags tagWriter")
	for _, f := range tagged {
		e.when(f, func() {
			e.p("if %s {", f.differsFromDefault("v"))
			e.p("body := tags.start(%d)", *f.Tag)
			e.appendField(f, "body")
			e.p("tags.end(body)")
			e.p("}")
		})
	}
	e.p("dst = tags.appendTo(dst)")
}

// differsFromDefault is the Go condition under which a tagged field is written.
func (f *field) differsFromDefault(of string) string {
	name := of + "." + goName(f.Name)
	switch {
	case f.emptyDefault() && f.array:
		return name + " == nil || len(" + name + ") > 0"
	case f.emptyDefault():
		condition := name + " == nil"
		for _, c := range f.nested.fields {
			condition += " || " + c.differsFromDefault(name)
		}
		return condition
	case f.nullable:
		return name + " != nil"
	case f.array || f.elem == "bytes":
		return "len(" + name + ") > 0"
	case f.elem == "bool":
		if f.defaultValue() == "true" {
			return "!" + name
		}
		return name
	case f.elem == "uuid":
		return name + " != ([16]byte{})"
	}
	return name + " != " + f.defaultValue()
}

func (e *emitter) appendField(f *field, dst string) {
	name := "v." + goName(f.Name)
	switch {
	case f.array:
		isNull := "false"
		if f.nullable {
			isNull = name + " == nil"
		}
		e.p("%s = appendArrayLen(%s, len(%s), %s, %s)", dst, dst, name, isNull, e.flexible())
		e.p("for i := range %s {", name)
		if f.nested != nil {
			e.p("%s = %s[i].append(%s, version)", dst, name, dst)
		} else {
			e.appendPrimitive(f, name+"[i]", dst)
		}
		e.p("}")
	case f.nested != nil && f.nullable:
		// The flag before the struct is a byte, or an unsigned varint in a tagged field.
		null, present := "appendInt8(%s, -1)", "appendInt8(%s, 1)"
		if f.tagged {
			null, present = "appendUvarint(%s, 0)", "appendUvarint(%s, 1)"
		}
		e.p("if %s == nil {", name)
		e.p("%s = "+null, dst, dst)
		e.p("} else {")
		e.p("%s = "+present, dst, dst)
		e.p("%s = %s.append(%s, version)", dst, name, dst)
		e.p("}")
	case f.nested != nil:
		e.p("%s = %s.append(%s, version)", dst, name, dst)
	case f.nullable:
		e.p("%s = appendNullable%s(%s, %s, %s)", dst, goName(f.elem), dst, name, e.flexible())
	default:
		e.appendPrimitive(f, name, dst)
	}
}

func (e *emitter) appendPrimitive(f *field, value, dst string) {
	p := primitives[f.elem]
	if p.compact {
		e.p("%s = %s(%s, %s, %s)", dst, p.write, dst, value, e.flexible())
		return
	}
	e.p("%s = %s(%s, %s)", dst, p.write, dst, value)
}

// readFunc writes the method that decodes a struct.
func (e *emitter) readFunc(s *structType) {
	e.p("func (v *%s) read(r *reader, version int16) {", s.goName)
	e.p("v.Reset()")
	for _, f := range s.fields {
		if !f.tagged {
			e.when(f, func() { e.readField(f) })
		}
	}
	if flexible := e.flexible(); flexible != "false" {
		e.readTags(taggedFields(s), flexible)
	}
	e.p("}\n")
}

func (e *emitter) readTags(tagged []*field, flexible string) {
	if flexible != "true" {
		e.p("if %s {", flexible)
		defer e.p("}")
	}
	if len(tagged) == 0 {
		e.p("r.tags(nil)")
		return
	}
	e.p("r.tags(func(tag uint32, r *reader) bool {")
	e.p("switch tag {")
	for _, f := range tagged {
		e.p("case %d:", *f.Tag)
		if f.versions.min > e.m.valid.min {
			e.p("if version < %d {\nreturn false\n}", f.versions.min)
		}
		e.readField(f)
		e.p("return true")
	}
	e.p("}")
	e.p("return false")
	e.p("})")
}

func (e *emitter) readField(f *field) {
	name := "v." + goName(f.Name)
	switch {
	case f.array && f.nullable:
		e.p("if n, ok := r.nullableArrayLen(%s, %d); ok {", e.flexible(), f.minSize())
		e.p("%s = make(%s, n)", name, f.goType())
		e.readElements(f, name)
		e.elseNil(f, name)
		e.p("}")
	case f.array:
		e.p("if n := r.arrayLen(%s, %d); n > 0 {", e.flexible(), f.minSize())
		e.p("%s = make(%s, n)", name, f.goType())
		e.readElements(f, name)
		e.p("}")
	case f.nested != nil && f.nullable:
		e.p("if r.present(%t) {", f.tagged)
		e.p("%s = new(%s)", name, f.nested.goName)
		e.p("%s.read(r, version)", name)
		e.elseNil(f, name)
		e.p("}")
	case f.nested != nil:
		e.p("%s.read(r, version)", name)
	case f.nullable:
		e.p("%s = r.nullable%s(%s)", name, goName(f.elem), e.flexible())
	default:
		e.p("%s = %s", name, e.readPrimitive(f))
	}
}

// elseNil clears a field that is null but isn't so by default.
func (e *emitter) elseNil(f *field, name string) {
	if f.emptyDefault() {
		e.p("} else {")
		e.p("%s = nil", name)
	}
}

func (e *emitter) readElements(f *field, name string) {
	e.p("for i := range %s {", name)
	if f.nested != nil {
		e.p("%s[i].read(r, version)", name)
	} else {
		e.p("%s[i] = %s", name, e.readPrimitive(f))
	}
	e.p("}")
}

func (e *emitter) readPrimitive(f *field) string {
	p := primitives[f.elem]
	if p.compact {
		return "r." + p.read + "(" + e.flexible() + ")"
	}
	return "r." + p.read + "()"
}
