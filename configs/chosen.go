package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ServicesKey is the key with the names of the services that run. Empty: all that are on
// by default.
const ServicesKey = "services"

// part is a service that an operator can name: a section with the address of a service,
// with a switch, or both.
type part struct {
	name            string
	enabled, listen []int // paths of the fields; nil: there is none
}

// partsOf returns the services of a type of configuration that can be named.
func partsOf(t reflect.Type) (all []part) {
	for _, k := range keysOf(t) {
		section, name, _ := strings.Cut(k.Name, ".")
		_, listens := k.service()
		if !listens && name != "enabled" {
			continue
		}
		if len(all) == 0 || all[len(all)-1].name != section {
			all = append(all, part{name: section})
		}
		if p := &all[len(all)-1]; listens {
			p.listen = k.path
		} else {
			p.enabled = k.path
		}
	}
	return all
}

// Names returns the names that ServicesKey may have, in the order of the sections.
func Names(config any) (names []string) {
	for _, p := range partsOf(reflect.TypeOf(config).Elem()) {
		names = append(names, p.name)
	}
	return names
}

// Chosen returns the entries of ServicesKey.
func Chosen(config any) []string {
	root := reflect.ValueOf(config).Elem()
	for _, k := range keysOf(root.Type()) {
		if k.Name == ServicesKey {
			return root.FieldByIndex(k.path).Interface().([]string)
		}
	}
	return nil
}

// LeftOut reports whether ServicesKey names services, and not this one although it could.
func LeftOut(config any, service string) bool {
	chosen := Chosen(config)
	return len(chosen) > 0 && !slices.Contains(chosen, service) && slices.Contains(Names(config), service)
}

// choose applies ServicesKey: a service that it names is on, every other that it could
// name is off, as if an operator had given each an empty address, or false to its switch.
func (l *loader) choose() {
	chosen := Chosen(l.config)
	if len(chosen) == 0 {
		return
	}
	root := reflect.ValueOf(l.config).Elem()
	names := Names(l.config)
	for _, name := range chosen {
		if !slices.Contains(names, name) {
			l.mistake(ServicesKey, name, l.notChosen(name, names), l.source[ServicesKey])
		}
	}
	var unused []string
	for _, p := range partsOf(root.Type()) {
		on := slices.Contains(chosen, p.name)
		if p.enabled != nil {
			root.FieldByIndex(p.enabled).SetBool(on)
		} else if !on {
			root.FieldByIndex(p.listen).SetString("")
		}
		if on && p.listen != nil && root.FieldByIndex(p.listen).String() == "" {
			l.warnings = append(l.warnings, fmt.Sprintf("%s: %s is in the list, but %[2]s.listen is empty, so it stays off", ServicesKey, p.name))
		}
		if !on && l.given(p.name) {
			unused = append(unused, p.name)
		}
	}
	if len(unused) > 0 {
		l.warnings = append(l.warnings, fmt.Sprintf("%s: not in the list, so these are off and their settings have no effect: %s", ServicesKey, strings.Join(unused, ", ")))
	}
}

// notChosen explains why ServicesKey cannot name something.
func (l *loader) notChosen(name string, names []string) string {
	if name != "" && l.isSection(name) {
		return "is not a service that the list can name: its own settings alone decide"
	}
	if hint := didYouMean(name, names); hint != "" {
		return "is not a service" + hint
	}
	return "is not one of " + strings.Join(names, ", ")
}

// given reports whether a key of a section was set.
func (l *loader) given(section string) bool {
	for name := range l.source {
		if strings.HasPrefix(name, section+".") {
			return true
		}
	}
	return false
}

// follows reports whether ServicesKey decides about a key while it names services.
func (k Key) follows() bool {
	_, listens := k.service()
	return listens || strings.HasSuffix(k.Name, ".enabled")
}

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

// Reload returns the configuration of a running daemon after its configuration
// was read again: running with the values of now for the live keys, and the
// names of the other keys that differ, in their order, which need a restart.
// Both arguments are pointers of one type; their targets are not modified.
func Reload[T any](running, now T) (next T, restart []string) {
	held := reflect.ValueOf(running).Elem()
	copied := reflect.New(held.Type())
	copied.Elem().Set(held)
	next = copied.Interface().(T)
	read := Keys(now)
	chosen := slices.Equal(Chosen(running), Chosen(now))
	for i, k := range Keys(next) {
		switch {
		case !chosen && k.follows(): // with ServicesKey, at a restart
		case k.Live:
			k.value.Set(read[i].value)
		case !reflect.DeepEqual(k.value.Interface(), read[i].value.Interface()):
			restart = append(restart, k.Name)
		}
	}
	return next, restart
}
