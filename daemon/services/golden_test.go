package services

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/racetest"
)

// TestContract compares the operator's contract, apart from the defaults, with
// a file: the names of all keys, which of them a reload applies, and the errors
// for invalid values.
func TestContract(t *testing.T) {
	if racetest.RaceDetector {
		t.Skip("one goroutine that loads the configuration for each key: run it without -race")
	}
	var b strings.Builder
	for _, k := range configs.Keys(new(Config)) {
		when := "restart"
		if k.Live {
			when = "reload"
		}
		_, _, err := Load(configs.Options{Flags: map[string]string{k.Name: "?!"}})
		fmt.Fprintf(&b, "%s\t%s\t%v\n", k.Name, when, err)
	}
	path := filepath.Join("testdata", "contract.golden")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), b.String()); diff != "" {
		t.Errorf("keys, -want +got (go test ./daemon/services -update writes them):\n%s", diff)
	}
}
