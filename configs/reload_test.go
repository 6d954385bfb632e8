package configs

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// update makes the tests write what they would otherwise compare with.
var update = flag.Bool("update", false, "write the list of keys that reload into default.yaml and the table of limits into README.md")

// reloadWords is the part of the head of default.yaml that says which keys a
// running daemon takes over. It is written from the keys themselves.
func reloadWords() string {
	var b strings.Builder
	b.WriteString("# On SIGHUP the file is read again, with the catalogue of games, the bans and\n# Zandronum's ban files, and these keys are taken over:\n")
	line, section := "", ""
	flush := func() {
		if line != "" {
			b.WriteString(line + "\n")
		}
		line = ""
	}
	for _, k := range new(Config).keys() {
		if !k.live {
			continue
		}
		in, name, nested := strings.Cut(k.name, ".")
		if in != section {
			flush()
			section, line = in, "#   "+in
			if nested {
				line += ": " + name
			}
			continue
		}
		if len(line)+len(", ,")+len(name) > 80 {
			line += ","
			flush()
			line = "#     " + name
			continue
		}
		line += ", " + name
	}
	flush()
	b.WriteString("# The log names other keys that changed: those need a restart. Windows has no\n# SIGHUP.\n")
	return b.String()
}

// replaceBetween returns text with what lies between two lines replaced.
func replaceBetween(t *testing.T, text, first, last, with string) string {
	t.Helper()
	from := strings.Index(text, first)
	to := strings.Index(text, last)
	if from < 0 || to < from {
		t.Fatalf("no text between %q and %q", first, last)
	}
	return text[:from] + with + text[to:]
}

func TestDefaultFileNamesTheKeysThatReload(t *testing.T) {
	const first, last = "# On SIGHUP", "\n# Folder of everything"
	want := replaceBetween(t, defaultYAML, first, last, reloadWords())
	if *update {
		if err := os.WriteFile("default.yaml", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(defaultYAML, want); diff != "" {
		t.Errorf("default.yaml, -is +should be (go test ./configs -update writes it):\n%s", diff)
	}
}

func TestReloadTakesOverMarkedKeysOnly(t *testing.T) {
	running := load(t, Options{})
	for i, k := range new(Config).keys() {
		now := load(t, Options{Flags: map[string]string{k.name: change(t, k.name)}})
		next, restart := Reload(running, now)
		var want *Config
		switch {
		case k.live:
			want = now
			if len(restart) > 0 {
				t.Errorf("Reload with another %s asks for a restart because of %q", k.name, restart)
			}
		default:
			want = running
			if !slices.Equal(restart, []string{k.name}) {
				t.Errorf("Reload with another %s: keys that need a restart are %q", k.name, restart)
			}
		}
		if got := changed(want, next); len(got) > 0 {
			t.Errorf("Reload with another %s (key %d, reloads: %v): wrong value of %q", k.name, i, k.live, got)
		}
	}
	if got := changed(load(t, Options{}), running); len(got) > 0 {
		t.Errorf("Reload changed the running configuration: %q", got)
	}
}
