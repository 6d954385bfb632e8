package configs

import (
	"fmt"
	"strings"
)

// checkCollisions reports each address that collides with an earlier one.
func (l *loader) checkCollisions() {
	all := Listeners(l.config)
	for i, b := range all {
		for _, a := range all[:i] {
			if network := collides(a, b); network != "" {
				l.mistake(b.Key, b.Address, fmt.Sprintf("collides with %s, %q: only one of them can have this %s port",
					a.Key, a.Address, strings.ToUpper(network)), l.source[b.Key])
				break
			}
		}
	}
}

// checkWhole reports the errors of the configuration's own checks.
func (l *loader) checkWhole() {
	c, ok := l.config.(interface{ Mistakes() []KeyError })
	if !ok {
		return
	}
	for _, m := range c.Mistakes() {
		l.mistake(m.Key, m.Value, m.Problem, l.source[m.Key])
	}
}
