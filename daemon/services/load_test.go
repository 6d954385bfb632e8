package services

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/configs"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// load returns a configuration that must be fine.
func load(t *testing.T, opt configs.Options) *Config {
	t.Helper()
	c, _, err := Load(opt)
	if err != nil {
		t.Fatalf("Load(%+v): %v", opt, err)
	}
	return c
}

// refused returns the mistakes of a configuration that must have some.
func refused(t *testing.T, opt configs.Options) *configs.Errors {
	t.Helper()
	c, _, err := Load(opt)
	all, isErrors := errors.AsType[*configs.Errors](err)
	if !isErrors {
		t.Fatalf("Load(%+v): error %v of type %T, want *Errors", opt, err, err)
	}
	if c != nil {
		t.Fatalf("Load(%+v) returns a configuration and an error", opt)
	}
	return all
}

// badKeys returns the keys of all mistakes.
func badKeys(t *testing.T, err *configs.Errors) []string {
	t.Helper()
	var names []string
	for _, e := range err.Unwrap() {
		k, isKey := errors.AsType[*configs.KeyError](e)
		if !isKey {
			t.Fatalf("mistake %q is of type %T, want *KeyError", e, e)
		}
		names = append(names, k.Key)
	}
	return names
}

func TestLoadPrecedence(t *testing.T) {
	file := "qr2:\n  sockets: 2\n  readers: 2\n  max_pending: 2\n"
	c := load(t, configs.Options{
		File:  write(t, "a.yaml", file),
		Env:   []string{"RESPAWND_QR2_SOCKETS=3", "RESPAWND_QR2_READERS=3"},
		Flags: map[string]string{"qr2.sockets": "4"},
	})
	got := []int{c.QR2.Sockets, c.QR2.Readers, c.QR2.MaxPending, c.QR2.UnprovedRate}
	if want := []int{4, 3, 2, 20}; !slices.Equal(got, want) {
		t.Errorf("flag, environment, file, default: got %v, want %v", got, want)
	}
}

func TestOverriddenValueIsNotChecked(t *testing.T) {
	c := load(t, configs.Options{
		File: write(t, "a.yaml", "qr2: {sockets: nonsense}"),
		Env:  []string{"RESPAWND_QR2_SOCKETS=3"},
	})
	if c.QR2.Sockets != 3 {
		t.Errorf("qr2.sockets = %d, want 3", c.QR2.Sockets)
	}
}

func TestEmptyListenTurnsServiceOff(t *testing.T) {
	tests := map[string]configs.Options{
		"file, quotes":       {File: write(t, "a.yaml", `gpcm: {listen: ""}`)},
		"file, nothing":      {File: write(t, "a.yaml", "gpcm:\n  listen:\n")},
		"file, null":         {File: write(t, "a.yaml", "gpcm:\n  listen: ~\n")},
		"environment":        {Env: []string{"RESPAWND_GPCM_LISTEN="}},
		"environment, blank": {Env: []string{"RESPAWND_GPCM_LISTEN= "}},
		"flag":               {Flags: map[string]string{"gpcm.listen": ""}},
		"environment over file": {
			File: write(t, "a.yaml", "gpcm: {listen: ':1'}"),
			Env:  []string{"RESPAWND_GPCM_LISTEN="},
		},
	}
	for name, opt := range tests {
		t.Run(name, func(t *testing.T) {
			c := load(t, opt)
			if c.GPCM.Listen != "" {
				t.Errorf("gpcm.listen = %q, want it empty", c.GPCM.Listen)
			}
			if got, want := changed(load(t, configs.Options{}), c), []string{".GPCM.Listen"}; !slices.Equal(got, want) {
				t.Errorf("fields that changed: %q, want %q", got, want)
			}
		})
	}
}

func TestListsInFile(t *testing.T) {
	for name, file := range map[string]string{
		"one per line": "net:\n  trusted:\n    - 10.0.0.0/8\n    - 192.0.2.1\n",
		"in brackets":  "net: {trusted: [10.0.0.0/8, 192.0.2.1]}",
		"with commas":  "net: {trusted: '10.0.0.0/8, 192.0.2.1'}",
	} {
		got := fmt.Sprint(load(t, configs.Options{File: write(t, "a.yaml", file)}).Net.Trusted)
		if want := "[10.0.0.0/8 192.0.2.1/32]"; got != want {
			t.Errorf("%s: net.trusted = %s, want %s", name, got, want)
		}
	}
	if got := load(t, configs.Options{Env: []string{"RESPAWND_NET_TRUSTED="}}).Net.Trusted; len(got) != 0 {
		t.Errorf("net.trusted of an empty variable = %v, want nothing", got)
	}
}

func TestFilesWithoutSettings(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "comment": "# nothing\n", "marker": "---\n", "end marker": "---\n...\n",
		"empty sections": "qr2:\nmaster: {}\n", "byte order mark": "\ufeffqr2:\n", "Windows lines": "qr2:\r\n  sockets: 1\r\n",
	} {
		if got := changed(load(t, configs.Options{}), load(t, configs.Options{File: write(t, "a.yaml", text)})); got != nil {
			t.Errorf("%s file changes %q, want no change", name, got)
		}
	}
}

func TestMistakesInFileNameKeyAndLine(t *testing.T) {
	tests := map[string]struct{ file, want string }{
		"key":                    {"\nqr2:\n  sokets: 1\n", "qr2.sokets: is an unknown key; did you mean qr2.sockets? (FILE line 3)"},
		"section":                {"zanmastr:\n  listen: ':1'\n", "zanmastr: is an unknown key; did you mean zanmaster? (FILE line 1)"},
		"case of unknown key":    {"QR2: {Sokets: 1}\n", "qr2.Sokets: is an unknown key; did you mean qr2.sockets? (FILE line 1)"},
		"nothing like it":        {"qr2: {flux_capacitor: 1}\n", "qr2.flux_capacitor: is an unknown key (FILE line 1)"},
		"top level":              {"datadir: x\n", "datadir: is an unknown key; did you mean data_dir? (FILE line 1)"},
		"enabled":                {"gpcm: {enabled: false}\n", "gpcm.enabled: is an unknown key; an empty gpcm.listen turns the service off (FILE line 1)"},
		"dotted":                 {"qr2.sokets: 1\n", "qr2.sokets: is an unknown key; did you mean qr2.sockets? (FILE line 1)"},
		"bad value":              {"qr2:\n  # why not\n  sockets: many\n", `qr2.sockets: "many" is not a whole number from 1 to 64 (FILE line 3)`},
		"value for section":      {"qr2: on\n", "qr2: \"on\" is a section: its keys belong below it, indented (FILE line 1)"},
		"list for section":       {"qr2: [1]\n", "qr2: is a section: its keys belong below it, indented (FILE line 1)"},
		"section for value":      {"qr2: {sockets: {a: 1}}\n", "qr2.sockets: takes a value, not a section or an alias (FILE line 1)"},
		"list for value":         {"qr2: {sockets: [1]}\n", "qr2.sockets: takes one value, not a list (FILE line 1)"},
		"list of lists":          {"net: {trusted: [[10.0.0.0/8]]}\n", "net.trusted: takes a list of plain values (FILE line 1)"},
		"list with a gap":        {"net: {trusted: [~]}\n", "net.trusted: takes a list of plain values (FILE line 1)"},
		"alias":                  {"data_dir: &a x\ngeoip: {file: *a}\n", "geoip.file: takes a value, not a section or an alias (FILE line 2)"},
		"alias of a section":     {"gpcm: &a {listen: ':1'}\ngpsp: *a\n", `gpsp: "a" is a section: its keys belong below it, indented (FILE line 2)`},
		"key given twice":        {"qr2:\n  sockets: 1\n  sockets: 2\n", "qr2.sockets: is given twice, first in line 2 (FILE line 3)"},
		"key twice by case":      {"qr2: {sockets: 1}\nqr2.Sockets: 2\n", "qr2.sockets: is given twice, first in line 1 (FILE line 2)"},
		"section given twice":    {"qr2:\n  sockets: 1\nqr2:\n  readers: 2\n", "qr2: is given twice, first in line 1 (FILE line 3)"},
		"no plain key":           {"? [a]\n: b\n", "?: is not a plain key (FILE line 1)"},
		"duration without unit":  {"qr2: {expire: 75}\n", `qr2.expire: "75" has no unit: write 500ms, 75s, 10m or 1h (FILE line 1)`},
		"number with underscore": {"qr2: {sockets: 0_2}\n", `qr2.sockets: "0_2" is not a whole number from 1 to 64 (FILE line 1)`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file := write(t, "a.yaml", test.file)
			got := strings.ReplaceAll(refused(t, configs.Options{File: file}).Error(), file, "FILE")
			if got != test.want {
				t.Errorf("Load of %q:\n got %s\nwant %s", test.file, got, test.want)
			}
		})
	}
}

func TestUnreadableFiles(t *testing.T) {
	tests := map[string]struct{ name, text, want string }{
		"not YAML":       {"a.yaml", "qr2:\n  sockets: [1\nmaster: 2\n", "not YAML: line "},
		"tab":            {"a.yaml", "qr2:\n\tsockets: 1\n", "not YAML: line 2"},
		"text":           {"a.yaml", "hello\n", "line 1: not a list of keys and values"},
		"list":           {"a.yaml", "\n- qr2\n", "line 2: not a list of keys and values"},
		"two documents":  {"a.yaml", "qr2:\n---\nmaster:\n", "more than one YAML document"},
		"other language": {"a.TOML", "[qr2]\n", ".toml files are not understood"},
		"too large":      {"a.yaml", strings.Repeat("#", configs.MaxFile+1), "larger than 1MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file := write(t, test.name, test.text)
			got := refused(t, configs.Options{File: file}).Error()
			if !strings.HasPrefix(got, file+": ") || !strings.Contains(got, test.want) {
				t.Errorf("Load: %q, want the file and %q", got, test.want)
			}
		})
	}
	load(t, configs.Options{File: write(t, "a.yaml", strings.Repeat("#", configs.MaxFile))})
}

func TestMissingFileIsReported(t *testing.T) {
	err := refused(t, configs.Options{File: filepath.Join(t.TempDir(), "none.yaml"), Flags: map[string]string{"qr2.sockets": "0"}})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load: %v, want one that wraps %v", err, fs.ErrNotExist)
	}
	if got := len(err.Unwrap()); got != 2 {
		t.Errorf("Load reports %d mistakes, want the file and the flag: %v", got, err)
	}
}

func TestCollisionsWithoutFile(t *testing.T) {
	// The file may have moved qr2 away from port 27900.
	err := refused(t, configs.Options{File: write(t, "a.yaml", "{"), Flags: map[string]string{"natneg.listen": ":27900"}})
	if strings.Contains(err.Error(), "collides") {
		t.Errorf("Load: %q, want no word of a collision", err)
	}
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	err := refused(t, configs.Options{
		File: write(t, "a.yaml", `
data_dir: ""
log: {level: loud}
qr2: {sokets: 1, sockets: many, expire: 5s}
web: {listen: ":99999"}
`),
		Env:   []string{"RESPAWND_MASTER_MAX_SERVERS=all"},
		Flags: map[string]string{"natneg.listen": "127.0.0.1:27900", "speed": "11", "games.domains": ""},
	})
	want := []string{
		"qr2.sokets", "speed", "data_dir", "log.level", "qr2.sockets", "qr2.expire", "master.max_servers",
		"web.listen", "games.domains", "natneg.listen",
	}
	if diff := cmp.Diff(want, badKeys(t, err)); diff != "" {
		t.Errorf("keys of the mistakes, -want +got:\n%s\n%v", diff, err)
	}
	if got := strings.Count(err.Error(), "\n") + 1; got != len(want) {
		t.Errorf("the message has %d lines, want %d, one per mistake", got, len(want))
	}
	for text, source := range map[string]string{
		"data_dir: ": "a.yaml line 2)", "master.max_servers: ": "(environment variable RESPAWND_MASTER_MAX_SERVERS)", "natneg.listen: ": "(flag --natneg.listen)",
	} {
		for line := range strings.Lines(err.Error()) {
			if strings.HasPrefix(line, text) && !strings.Contains(line, source) {
				t.Errorf("%q does not name its source %q", line, source)
			}
		}
	}
}

func TestMistakesAreBounded(t *testing.T) {
	var file strings.Builder
	for i := range 2 * configs.MaxMistakes {
		fmt.Fprintf(&file, "wrong%d: 1\n", i)
	}
	all := refused(t, configs.Options{File: write(t, "a.yaml", file.String())}).Unwrap()
	if len(all) != configs.MaxMistakes+1 || all[configs.MaxMistakes].Error() != "there are more mistakes" {
		t.Errorf("Load reports %d mistakes, the last is %q, want %d and a word about the others", len(all), all[len(all)-1], configs.MaxMistakes)
	}
}

func TestLongValueIsCutInMessage(t *testing.T) {
	got := refused(t, configs.Options{Flags: map[string]string{"log.level": strings.Repeat("\n", 1000)}}).Error()
	if len(got) > 300 || strings.Contains(got, "\n") {
		t.Errorf("message of %d bytes, want a short line: %q", len(got), got)
	}
}

func TestUnknownVariableIsAWarning(t *testing.T) {
	_, warnings, err := Load(configs.Options{Env: []string{
		"RESPAWND_QR2_LISTN=secret", "RESPAWND_FLUX_CAPACITOR=1", "respawnd_log_level=debug", "PATH=/bin", "RESPAWND=1", "=C:=C:\\", "",
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"environment variable RESPAWND_QR2_LISTN is not a setting; did you mean RESPAWND_QR2_LISTEN?",
		"environment variable RESPAWND_FLUX_CAPACITOR is not a setting",
		"environment variable respawnd_log_level is not a setting; did you mean RESPAWND_LOG_LEVEL?",
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings, -want +got:\n%s", diff)
	}
}

func TestEnvironmentOfProcessIsNotRead(t *testing.T) {
	t.Setenv("RESPAWND_QR2_SOCKETS", "7")
	t.Setenv("QR2_SOCKETS", "8")
	if got := load(t, configs.Options{}).QR2.Sockets; got != 1 {
		t.Errorf("qr2.sockets = %d, want the default 1", got)
	}
}

func TestRareChoicesAreWarnedAbout(t *testing.T) {
	tests := map[string]struct {
		flags map[string]string
		want  string // start of the only warning, empty: none
	}{
		"admin on all addresses":     {map[string]string{"admin.listen": ":8081"}, "admin.listen: "},
		"admin on one address":       {map[string]string{"admin.listen": "192.0.2.1:8081"}, "admin.listen: "},
		"admin on localhost":         {map[string]string{"admin.listen": "localhost:8081"}, ""},
		"admin on IPv6 loopback":     {map[string]string{"admin.listen": "[::1]:8081"}, ""},
		"no admin":                   {map[string]string{"admin.listen": ""}, ""},
		"everybody trusted":          {map[string]string{"net.trusted": "10.0.0.0/8,0.0.0.0/0"}, "net.trusted: "},
		"everybody is a proxy":       {map[string]string{"web.trusted_proxies": "::/0"}, "web.trusted_proxies: "},
		"everybody sends rounds":     {map[string]string{"webservices.snapshot_servers": "0.0.0.0/0"}, "webservices.snapshot_servers: "},
		"streams of an address":      {map[string]string{"web.max_streams": "63"}, "web.max_streams_per_addr: "},
		"web connections":            {map[string]string{"web.max_conns": "255"}, "web.max_per_addr: "},
		"per address over network":   {map[string]string{"master.max_per_addr": "4097"}, "master.max_per_addr: "},
		"per address as per network": {map[string]string{"master.max_per_addr": "4096"}, ""},
		"per network over all":       {map[string]string{"master.max_servers": "4095"}, "master.max_per_net: "},
		"connections":                {map[string]string{"serverbrowse.max_conns": "31"}, "serverbrowse.max_per_addr: "},
		"keepalive too late":         {map[string]string{"serverbrowse.keepalive": "120s"}, "serverbrowse.keepalive: "},
		"keepalive in time":          {map[string]string{"serverbrowse.keepalive": "119s"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, warnings, err := Load(configs.Options{Flags: test.flags})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case test.want == "" && len(warnings) > 0:
				t.Errorf("Load(%v) warns %q, want nothing", test.flags, warnings)
			case test.want != "" && (len(warnings) != 1 || !strings.HasPrefix(warnings[0], test.want)):
				t.Errorf("Load(%v) warns %q, want one that starts with %q", test.flags, warnings, test.want)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	var got Config
	configs.Defaults(&got)
	if diff := cmp.Diff(load(t, configs.Options{}), &got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("Defaults differ from Load without sources:\n%s", diff)
	}
}
