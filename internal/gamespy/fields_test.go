package gamespy

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scanned returns the fields that ScanFields finds, keys and values in turn.
func scanned(b []byte) []string {
	var out []string
	for s := ScanFields(b); s.Next(); {
		out = append(out, string(s.Key()), string(s.Value()))
	}
	return out
}

func TestScanFieldsOfClients(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"heartbeat":           {`\heartbeat\26900\gamename\gmtest`, []string{"heartbeat", "26900", "gamename", "gmtest"}},
		"key without value":   {`\heartbeat\1\gamename\x\statechanged`, []string{"heartbeat", "1", "gamename", "x", "statechanged", ""}},
		"value without bytes": {`\heartbeat\\gamename\x\statechanged\`, []string{"heartbeat", "", "gamename", "x", "statechanged", ""}},
		"with a NUL":          {"\\a\\b\x00\\c\\d", []string{"a", "b"}},
		"with a line end":     {"\\a\\b\r\n", []string{"a", "b"}},
		"final":               {`\team_0\\final\\queryid\2.1`, []string{"team_0", "", "final", "", "queryid", "2.1"}},
		"nothing":             {"", nil},
		"no backslash":        {"abc", nil},
	} {
		if diff := cmp.Diff(tc.want, scanned([]byte(tc.text))); diff != "" {
			t.Errorf("%s: fields of %q (-want +got):\n%s", name, tc.text, diff)
		}
	}
}

func TestDropValueMakesItTheNextKey(t *testing.T) {
	s := ScanFields([]byte(`\final\player_1\Joe`))
	if !s.Next() {
		t.Fatal("no field")
	}
	s.DropValue()
	if !s.Next() || string(s.Key()) != "player_1" || string(s.Value()) != "Joe" {
		t.Errorf("behind the dropped value: %q = %q, want player_1 = Joe", s.Key(), s.Value())
	}
	if s.Next() {
		t.Errorf("one more field: %q", s.Key())
	}
}

func FuzzScanFields(f *testing.F) {
	f.Add([]byte(`\heartbeat\26900\gamename\gmtest\statechanged\`))
	f.Add([]byte("x\\a\\\\\\b\\c\r\n\\"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseMessage(b)
		if err != nil && !errors.Is(err, ErrNoFields) {
			return
		}
		var want []string
		for k, v := range m.Fields() {
			want = append(want, k, v)
		}
		if diff := cmp.Diff(want, scanned(b)); diff != "" {
			t.Errorf("ScanFields and ParseMessage differ on %q:\n%s", b, diff)
		}
	})
}
