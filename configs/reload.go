package configs

import "reflect"

// Reload returns what a running daemon goes by after its configuration was read
// again: running, but with the values of now for those keys that may change
// while it runs, and the names of the other keys that differ, in the order of
// default.yaml. Those need a restart. Neither argument is changed.
func Reload(running, now *Config) (next *Config, restart []string) {
	next = new(Config)
	*next = *running
	read := now.keys()
	for i, k := range next.keys() {
		to, from := k.field, read[i].field
		switch {
		case k.live:
			to.Set(from)
		case !reflect.DeepEqual(to.Interface(), from.Interface()):
			restart = append(restart, k.name)
		}
	}
	return next, restart
}
