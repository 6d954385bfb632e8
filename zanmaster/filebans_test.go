package zanmaster

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/operator"
)

func TestFileBans(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(BanFile, "// fakes\n192.0.2.1 :fake players\nnonsense\n\n203.0.113.*  <01/01/2001 00:00>:long over\n198.51.100.5-198.51.100.9<12/31/2099 12:00>\n192.0.2.*\n")
	write(BlockFile, "192.0.2.7:spam\n")
	write(ExemptFile, "192.0.2.9\n")
	one := operator.FileBan{Addresses: "192.0.2.1", Scope: "zandronum", Effect: "may neither play nor request lists nor be listed", Reason: "fake players", File: filepath.Join(dir, BanFile), Line: 2}
	span := one
	span.Addresses, span.Reason, span.Line = "198.51.100.5-198.51.100.9", "", 6
	span.Expires = time.Date(2099, 12, 31, 12, 0, 0, 0, time.Local)
	wild := one
	wild.Addresses, wild.Reason, wild.Line = "192.0.2.*", "", 7
	blocked := operator.FileBan{Addresses: "192.0.2.7", Scope: "zandronum", Effect: "may not be listed", Reason: "spam", File: filepath.Join(dir, BlockFile), Line: 1}
	for text, want := range map[string][]operator.FileBan{
		"":             {one, span, wild, blocked},
		"192.0.2.1":    {one, wild},
		"192.0.2.7":    {wild, blocked},
		"192.0.2.9":    nil, // exempt
		"203.0.113.1":  nil, // over
		"198.51.100.9": {span},
		"2001:db8::1":  nil,
	} {
		var a netip.Addr
		if text != "" {
			a = netip.MustParseAddr(text)
		}
		got, err := readFileBans(dir, a)
		if diff := cmp.Diff(got, want); err != nil || diff != "" {
			t.Errorf("bans that cover %q: %v, -got +want:\n%s", text, err, diff)
		}
	}
	if got, err := readFileBans(t.TempDir(), netip.Addr{}); err != nil || len(got) != 0 {
		t.Errorf("without files: %v, %v", got, err)
	}
}
