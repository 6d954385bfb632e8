package webhook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/colour"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// wantCut fails unless a text of the longest length stays and a longer one is cut.
func wantCut(t *testing.T, what string, limit int, text func(long string) string) {
	t.Helper()
	longest := strings.Repeat("x", limit)
	if got := text(longest); got != longest {
		t.Errorf("%s of %d characters becomes %q", what, limit, got)
	}
	if got := text(longest + "x"); utf8.RuneCountInString(got) != limit || got == longest {
		t.Errorf("%s of %d characters becomes %q, want %d characters and a mark", what, limit+1, got, limit)
	}
}

func TestTextsAreCut(t *testing.T) {
	server := func(long string) *Server {
		var rep master.Report
		for _, v := range []string{long, "1", "16", long} {
			rep.Rule([]byte(v))
		}
		rep.SetRules(master.NewRegistry(master.Limits{}).Names([]string{"hostname", "numplayers", "maxplayers", "mapname"}))
		s := master.Server{Origin: master.Static}
		if err := rep.Into(&s); err != nil {
			t.Fatal(err)
		}
		return describe(&s, long, colour.None)
	}
	wantCut(t, "title", maxName, func(long string) string { return server(long).Title })
	wantCut(t, "name", maxName, func(long string) string { return server(long).Name })
	wantCut(t, "map", maxArea, func(long string) string { return server(long).Map })
	wantCut(t, "author of a ban", maxName, func(long string) string { return describeBan(storage.Ban{By: long}).By })
	wantCut(t, "reason of a ban", 2*maxName, func(long string) string { return describeBan(storage.Ban{Reason: long}).Reason })
}

func TestHookFileLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "url")
	for n, ok := range map[int]bool{maxHookFile: true, maxHookFile + 1: false} {
		if err := os.WriteFile(path, []byte(strings.Repeat("x", n)), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := readHookFile(path); (err == nil) != ok || ok && len(text) != n {
			t.Errorf("file of %d bytes: %d, %v", n, len(text), err)
		}
	}
}
