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
