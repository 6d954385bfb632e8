package configs

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// step is an entry for tests.
type step struct {
	Name string `yaml:"name"`
	Size int    `yaml:"size"`
	Last bool   `yaml:"last"`
}

func (s *step) CheckEntry() error {
	if s.Name == "" {
		return errors.New("name: is missing")
	}
	return nil
}

func TestEntries(t *testing.T) {
	type config struct {
		Steps []step `key:"steps"`
	}
	for text, want := range map[string]any{
		"":                                   []step(nil),
		"[]":                                 []step(nil),
		`[{name: 1.0, size: 3, last: true}]`: []step{{"1.0", 3, true}},
		"- name: a\n  last: 1\n- {name: b, last: 0}": []step{{"a", 0, true}, {"b", 0, false}},
		`{name: a}`:            "is not a list",
		`[a]`:                  "entry 1: is not a list of fields",
		`[{name: a, nam: b}]`:  `entry 1: has the unknown field "nam"`,
		`[{name: a, size: x}]`: "entry 1: has a field twice, or",
		`[{size: 1}]`:          "entry 1: name: is missing",
		"[" + strings.Repeat("{name: a},", MaxEntries+1) + "]": "more than 256",
	} {
		var c config
		err := Keys(&c)[0].set(text)
		if part, bad := want.(string); bad {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%.60q: %v, want %q", text, err, part)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(c.Steps, want) && len(c.Steps) > 0 {
			t.Errorf("%.60q: %+v, %v, want %+v", text, c.Steps, err, want)
		}
	}
}
