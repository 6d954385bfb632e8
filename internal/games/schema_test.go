package games

import (
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unstated returns the keys of the facts of a struct, and of its parts, that no value states.
func (r *record) unstated(values []reflect.Value) (keys []string) {
	for i := range r.facts {
		f := &r.facts[i]
		var stated, parts []reflect.Value
		for _, v := range values {
			if x := f.in(v); !f.zero(x) && x.String() != f.standard {
				stated = append(stated, x)
			}
		}
		if stated == nil {
			keys = append(keys, f.key)
		}
		of := f.parts
		for _, x := range stated {
			if f.kind == listKind {
				of = f.item.parts
				for k := range x.Len() {
					parts = append(parts, x.Index(k))
				}
			} else {
				parts = append(parts, x)
			}
		}
		if of != nil {
			keys = append(keys, of.unstated(parts)...)
		}
	}
	return keys
}

// TestEveryFact checks that every fact is written as it was read, down to the byte, that layers
// carry it and that copies of it do not share memory.
func TestEveryFact(t *testing.T) {
	text, err := os.ReadFile("testdata/every.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list := parse(t, string(text))
	if diff := cmp.Diff(string(text), string(AppendYAML(nil, list))); diff != "" {
		t.Errorf("written (-read +written):\n%s", diff)
	}
	full, empty := &list[0], &list[1]
	if keys := gameRecord().unstated([]reflect.Value{reflect.ValueOf(full).Elem()}); keys != nil {
		t.Errorf("testdata/every.yaml lacks %v", keys)
	}
	same := cmp.Diff(layered(t, *full, Game{}), layered(t, Game{}, *full), ignoreSource)
	if same != "" {
		t.Errorf("layered in the other order:\n%s", same)
	}
	over := *empty
	over.Aliases = nil
	if got := layered(t, *full, over); !reflect.DeepEqual(got.Facts, Facts{}) || got.Secrets != nil || got.ID != 0 || got.Maintenance || got.Rooms != nil {
		t.Errorf("stated zeros leave %+v", got)
	}
	for i := range gameRecord().facts {
		if f := &gameRecord().facts[i]; f.zeroable() != empty.Given.has(i) {
			t.Errorf("%s stated as nothing: Given has it %v", f.key, empty.Given.has(i))
		}
	}
	if diff := (*full).Differences(*full); diff != nil {
		t.Errorf("a game differs from itself: %+v", diff)
	}
	copied := *full
	copied.unshare()
	shared(t, reflect.ValueOf(full).Elem(), reflect.ValueOf(&copied).Elem(), "Game")
}

// shared reports slices that two structs share.
func shared(t *testing.T, a, b reflect.Value, path string) {
	t.Helper()
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			shared(t, a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name)
		}
	case reflect.Slice:
		if a.Len() > 0 && a.Pointer() == b.Pointer() {
			t.Errorf("%s: the copy shares it", path)
		}
		for i := range a.Len() {
			shared(t, a.Index(i), b.Index(i), path)
		}
	default: // shares nothing
	}
}

// TestCatalogueIsWrittenAsItIs checks that the whole built-in catalogue is read back as it was written.
func TestCatalogueIsWrittenAsItIs(t *testing.T) {
	want := newCatalog(t, embedded(t)...).All()
	got := newCatalog(t, parse(t, string(AppendYAML(nil, want)))).All()
	if diff := cmp.Diff(want, got, ignoreSource); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}
