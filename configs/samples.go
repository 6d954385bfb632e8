package configs

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
)

// sample is a name or an address that is reserved for documentation (RFC 2606,
// RFC 5737, RFC 3849): in a configuration it was left in from a sample.
var sample = regexp.MustCompile(`(?i)(?:^|[^a-z0-9.-])((?:[a-z0-9-]+\.)*example\.(?:com|net|org|edu)` +
	`|(?:192\.0\.2\.[0-9]{1,3}|198\.51\.100\.[0-9]{1,3}|203\.0\.113\.[0-9]{1,3}|2001:0?db8:[0-9a-f:]*)(?:/[0-9]+)?)(?:$|[^a-z0-9-])`)

// Samples returns a warning for each value of a configuration that is meant for
// documentation only, such as names under example.org. It looks into all keys and
// into no other files.
func Samples(config any) (warnings []string) {
	root := reflect.ValueOf(config).Elem()
	for _, k := range keysOf(root.Type()) {
		var found []string
		for _, text := range textsIn(root.FieldByIndex(k.path)) {
			for _, m := range sample.FindAllStringSubmatch(text, -1) {
				if !slices.Contains(found, m[1]) {
					found = append(found, m[1])
				}
			}
		}
		for _, value := range found {
			warnings = append(warnings, fmt.Sprintf("%s: %s is a value for documentation: put yours in its place", k.Name, value))
		}
	}
	return warnings
}

// textsIn returns the texts in a value, secrets among them.
func textsIn(v reflect.Value) (all []string) {
	if s, ok := reflect.TypeAssert[fmt.Stringer](v); ok && v.Kind() != reflect.String {
		return []string{s.String()}
	}
	switch v.Kind() {
	case reflect.String:
		return []string{v.String()}
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, textsIn(v.Index(i))...)
		}
	case reflect.Struct:
		for f, field := range v.Fields() {
			if f.IsExported() {
				all = append(all, textsIn(field)...)
			}
		}
	default: // numbers and switches
	}
	return all
}
