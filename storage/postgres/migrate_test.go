package postgres

import "testing"

func TestMigrationsAreNumbered(t *testing.T) {
	last := 0
	for _, m := range migrations() {
		if m.number <= last || m.sql == "" {
			t.Errorf("%s comes after number %d", m.name, last)
		}
		last = m.number
	}
	if last == 0 {
		t.Error("there are no migrations")
	}
}
