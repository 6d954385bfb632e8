package configs

import (
	"iter"
	"reflect"
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
	for f, v := range fields(reflect.ValueOf(config).Elem()) {
		if IsSection(f) {
			all = append(all, Section{f.Tag.Get("key"), v.Addr().Interface()})
		}
	}
	return all
}

// fields yields the fields of a struct. Those of a struct that is embedded without
// a key follow in its place. Unexported fields are left out.
func fields(v reflect.Value) iter.Seq2[reflect.StructField, reflect.Value] {
	return func(yield func(reflect.StructField, reflect.Value) bool) { eachField(v, yield) }
}

func eachField(v reflect.Value, yield func(reflect.StructField, reflect.Value) bool) bool {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous && f.Tag.Get("key") == "" {
			if !eachField(v.Field(i), yield) {
				return false
			}
			continue
		}
		if f.IsExported() && !yield(f, v.Field(i)) {
			return false
		}
	}
	return true
}
