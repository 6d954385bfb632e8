package configs

import (
	"reflect"
	"slices"
)

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
