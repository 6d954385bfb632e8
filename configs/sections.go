package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Section is a part of a configuration that has a name of its own.
type Section struct {
	Name  string // "qr2"
	Value any    // pointer to the field
}

// Sections returns the sections of a configuration, in the order of its fields.
// config is a pointer, see Keys.
func Sections(config any) []Section {
	var all []Section
	root := reflect.ValueOf(config).Elem()
	for _, f := range fields(root.Type()) {
		if IsSection(f) {
			all = append(all, Section{f.Tag.Get("key"), root.FieldByIndex(f.Index).Addr().Interface()})
		}
	}
	return all
}

// fields returns the fields of a struct. Those of a struct that is embedded without
// a key follow in its place, with their path as Index, and with defaults that are
// others here: its tag defaults has them, as in `defaults:"rate=20 burst=400"`.
// Unexported fields are left out.
func fields(t reflect.Type) []reflect.StructField {
	var all []reflect.StructField
	for f := range t.Fields() {
		switch {
		case f.Anonymous && f.Tag.Get("key") == "":
			for _, inner := range fields(f.Type) {
				inner.Index = slices.Concat(f.Index, inner.Index)
				for other := range strings.FieldsSeq(f.Tag.Get("defaults")) {
					if value, ok := strings.CutPrefix(other, inner.Tag.Get("key")+"="); ok {
						inner.Tag = reflect.StructTag(fmt.Sprintf("default:%q ", value)) + inner.Tag // the first one counts
					}
				}
				all = append(all, inner)
			}
		case f.IsExported():
			all = append(all, f)
		}
	}
	return all
}
