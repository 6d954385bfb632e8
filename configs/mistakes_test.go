package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// All mistakes of an entry are reported, each with the line of its entry.
func TestMistakesOfEntries(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "own.yaml")
	text := "# the first line\nwebhooks:\n- {name: ok, url: 'https://example.org', format: discord}\n\n- name: ok\n  url: ftp://x\n  format: smoke\n  events: [fire]\n  color: red\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var c struct {
		Webhooks []Webhook `key:"webhooks"`
	}
	_, err := Load(Options{File: path}, &c)
	if err == nil {
		t.Fatal("the mistakes were not found")
	}
	for _, part := range []string{"unknown key \"color\"", "url: is not a web address", "format: must be", "events: may hold", "the name of an earlier one"} {
		if want := "(" + path + " line 5)"; !strings.Contains(err.Error(), part) || strings.Count(err.Error(), want) != 5 {
			t.Errorf("%v\nlacks %q with %s", err, part, want)
		}
	}
}
