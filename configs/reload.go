package configs

import "reflect"

// Reload returns what a running daemon goes by after its configuration was read
// again: running, but with the values of now for those keys that may change
// while it runs, and the names of the other keys that differ, in their order.
// Those need a restart. Both arguments are pointers of one type; what they point to
// is not changed.
func Reload[T any](running, now T) (next T, restart []string) {
	held := reflect.ValueOf(running).Elem()
	copied := reflect.New(held.Type())
	copied.Elem().Set(held)
	next = copied.Interface().(T)
	read := Keys(now)
	for i, k := range Keys(next) {
		switch {
		case k.Live:
			k.value.Set(read[i].value)
		case !reflect.DeepEqual(k.value.Interface(), read[i].value.Interface()):
			restart = append(restart, k.Name)
		}
	}
	return next, restart
}
