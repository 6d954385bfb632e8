package services

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/racetest"
)

func TestDefaultsAreValid(t *testing.T) {
	if _, warnings, err := Load(configs.Options{}); err != nil || len(warnings) > 0 {
		t.Errorf("Load of nothing: %v, warnings %q, want neither", err, warnings)
	}
}

func TestCallerMayChangeDefault(t *testing.T) {
	clear(configs.Default())
	if !strings.Contains(string(configs.Default()), "data_dir:") {
		t.Error("configs.Default() hands out its own memory")
	}
}

func TestTokenPath(t *testing.T) {
	for file, want := range map[string]string{"": "respawnd-data/admin.token", "/run/token": "/run/token"} {
		c := load(t, configs.Options{Flags: map[string]string{"admin.token_file": file}})
		if got := c.Admin.TokenPath(c.DataDir); filepath.ToSlash(got) != want {
			t.Errorf("TokenPath() = %q, want %q", got, want)
		}
	}
}

// documented is a key of default.yaml and the comment above it.
type documented struct{ name, comment string }

func documentedKeys(t *testing.T) []documented {
	t.Helper()
	var document yaml.Node
	if err := yaml.Unmarshal(configs.Default(), &document); err != nil {
		t.Fatal(err)
	}
	var all []documented
	var walk func(prefix string, n *yaml.Node)
	walk = func(prefix string, n *yaml.Node) {
		for i := 0; i < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if k.HeadComment == "" {
				t.Errorf("default.yaml: %s%s has no comment", prefix, k.Value)
			}
			if v.Kind == yaml.MappingNode {
				walk(prefix+k.Value+".", v)
				continue
			}
			comment := strings.Join(strings.Fields(strings.ReplaceAll(k.HeadComment, "#", " ")), " ")
			all = append(all, documented{prefix + k.Value, comment})
		}
	}
	walk("", document.Content[0])
	return all
}

func TestAllowedComments(t *testing.T) {
	docs := make(map[string]string)
	for _, d := range documentedKeys(t) {
		docs[d.name] = d.comment
	}
	for _, k := range configs.Keys(new(Config)) {
		if !strings.Contains(docs[k.Name], k.Allowed) {
			t.Errorf("comment of %s does not hold %q: %s", k.Name, k.Allowed, docs[k.Name])
		}
	}
	for _, s := range All() {
		network, _, _ := strings.Cut(strings.ToUpper(s.Network), "+")
		for _, want := range []string{network + " address", fmt.Sprint(s.Port)} {
			if s.Name != "web" && s.Name != "admin" && !strings.Contains(docs[s.Key], want) {
				t.Errorf("comment of %s does not hold %q: %s", s.Key, want, docs[s.Key])
			}
		}
	}
}

func TestLinesOfDefaultFileAreShort(t *testing.T) {
	for i, line := range strings.Split(string(configs.Default()), "\n") {
		if len(line) > 80 {
			t.Errorf("default.yaml:%d is %d characters long, want at most 80", i+1, len(line))
		}
	}
}

// ways are values by the form of a key, which the tag "as" or the type names. One of the
// two differs from the default.
var ways = map[string][2]string{
	"": {"example.org", "example.net"}, "text": {"Welcome", "Hello"}, "line": {"Welcome", "Hello"}, "paragraph": {"Welcome", "Hello"},
	"dir": {"/srv/elsewhere", "/srv/here"}, "listen": {"127.0.0.1:4001", "127.0.0.1:4002"}, "extralisten": {"127.0.0.1:4000", ""},
	"password": {"correct-horse", ""}, "publicurl": {"https://servers.example.org", ""}, "smtpurl": {"smtps://me:hidden-token@mail.example.org", ""},
	"postgresurl": {"postgres://me:hidden-token@db.example.org/respawnd", ""}, "sender": {"noreply@example.org", ""}, "domain": {"example.org", ""}, "ports": {"50000-50009", ""},
	"web.Link": {`[{title: Rules, url: "https://example.org/rules"}]`, ""}, "motd.Patch": {`[{product: 1, version: "1.0", name: "1.1"}]`, ""},
	"name": {defaultServices(), ""}, "bool": {"true", "false"}, "netip.Prefix": {"192.0.2.0/24", "192.0.2.0/25"}, "netip.AddrPort": {"192.0.2.53", "192.0.2.54"}, "netip.Addr": {"192.0.2.9", "192.0.2.10"},
	"configs.Advertised": {"10.0.0.0/8=192.0.2.9", ""}, "configs.StaticServer": {"a2s 192.0.2.1:27015", ""},
	"configs.OtherMaster": {"q3 master.example.org game=Xonotic protocol=3", ""}, "configs.Webhook": {"[{name: a, url: 'https://example.org/x', secret: 0123456789abcdef}]", ""},
}

// defaultServices lists the services that are on by default: naming them changes nothing else.
func defaultServices() string {
	c := new(Config)
	configs.Defaults(c)
	return strings.Join(slices.DeleteFunc(configs.Names(c), func(name string) bool { return name == "dns" }), ",")
}

// change returns a value other than the default for a key.
func change(t *testing.T, k configs.Key) string {
	t.Helper()
	choices := strings.Split(strings.ReplaceAll(k.Allowed, " to ", ", "), ", ")
	if k.Allowed == "" {
		of := k.Field.Type
		if of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		form := k.Field.Tag.Get("as")
		if of.Kind() != reflect.String {
			form = of.String()
		} else if k.Field.Tag.Get("listen") != "" {
			form = "listen"
		}
		two, ok := ways[form]
		if !ok {
			t.Fatalf("no value for %s (%q): add it to ways", k.Name, form)
		}
		choices = two[:]
	}
	if choices[0] == "true or false" {
		choices = []string{"true", "false"}
	}
	base := load(t, configs.Options{})
	for _, v := range choices {
		if !reflect.DeepEqual(load(t, configs.Options{Flags: map[string]string{k.Name: v}}), base) {
			return v
		}
	}
	t.Fatalf("no other value for %s among %q", k.Name, choices)
	return ""
}

// leaves returns the fields of a configuration, one per line.
func leaves(c *Config) string {
	var b strings.Builder
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[netip.Addr]() {
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
			return
		}
		fmt.Fprintf(&b, "%s = %v\n", path, v)
	}
	walk("", reflect.ValueOf(*c))
	return b.String()
}

// changed returns the fields in which two configurations differ.
func changed(a, b *Config) []string {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return differing(leaves(a), leaves(b))
}

// differing returns the fields with different values in two results of leaves.
func differing(a, b string) []string {
	linesA, linesB := strings.Split(a, "\n"), strings.Split(b, "\n")
	var fields []string
	for i := range linesA {
		if linesA[i] != linesB[i] {
			field, _, _ := strings.Cut(linesA[i], " ")
			fields = append(fields, field)
		}
	}
	return fields
}

func TestEveryKeySetsOneField(t *testing.T) {
	racetest.Skip(t, "loads each key")
	base := leaves(load(t, configs.Options{}))
	setBy := map[string]string{} // key by field
	lastSection := ""
	for _, k := range configs.Keys(new(Config)) {
		value := change(t, k)
		section, _, _ := strings.Cut(k.Name, ".")
		inFile, indent := "", ""
		for part := range strings.SplitSeq(k.Name, ".") {
			inFile += "\n" + indent + part + ":"
			indent += "  "
		}
		inFile += fmt.Sprintf(" %q\n", value)
		ways := map[string]configs.Options{
			"file":        {File: write(t, "a.yaml", inFile)},
			"environment": {Env: []string{k.Variable() + "=" + value}},
			"flag":        {Flags: map[string]string{strings.ReplaceAll(k.Name, "_", "-"): value}},
		}
		if section != lastSection { // other spellings, which do not depend on the key
			ways["file, dotted"] = configs.Options{File: write(t, "a.yaml", fmt.Sprintf("%s: %q\n", k.Name, value))}
			ways["flag as the key"] = configs.Options{Flags: map[string]string{k.Name: value}}
			ways["file, JSON"] = configs.Options{File: write(t, "a.json", fmt.Sprintf("{%q: %q}\n", k.Name, value))}
		}
		lastSection = section
		for way, opt := range ways {
			got := differing(base, leaves(load(t, opt)))
			if len(got) != 1 {
				t.Errorf("%s=%s by %s changes the fields %q, want one", k.Name, value, way, got)
				continue
			}
			if other := setBy[got[0]]; other != "" && other != k.Name {
				t.Errorf("%s and %s both set the field %s", other, k.Name, got[0])
			}
			setBy[got[0]] = k.Name
		}
	}
	if got, want := len(setBy), strings.Count(base, "\n"); got != want {
		t.Errorf("%d of %d fields can be set, want all: %v", got, want, setBy)
	}
}

func TestEveryKeyHasItsOwnVariable(t *testing.T) {
	seen := map[string]string{}
	for _, k := range configs.Keys(new(Config)) {
		if other, found := seen[k.Variable()]; found {
			t.Errorf("%s and %s share the variable %s", other, k.Name, k.Variable())
		}
		seen[k.Variable()] = k.Name
	}
	if got := seen["RESPAWND_SERVERBROWSE_MAX_PER_ADDR"]; got != "serverbrowse.max_per_addr" {
		t.Errorf("RESPAWND_SERVERBROWSE_MAX_PER_ADDR is the key %q, want serverbrowse.max_per_addr", got)
	}
}

// TestRangesHoldAtTheirEdges checks one key of each kind of range. The ranges of all keys
// are in testdata/contract.golden.
func TestRangesHoldAtTheirEdges(t *testing.T) {
	for name, e := range map[string]struct{ below, low, high, above string }{
		"qr2.sockets":                  {"0", "1", "64", "65"},
		"natneg.max_open":              {"0", "1", "10000000", "10000001"},
		"gpsp.lookups":                 {"-1", "0", "1000000", "1000001"},
		"qr2.read_buffer":              {"4095", "4KiB", "1GiB", "1073741825"},
		"webservices.max_record_space": {"0", "1", "1024GiB", "1099511627777"},
		"qr2.expire":                   {"29.999s", "30s", "1h", "1h0m0.001s"},
		"storage.postgres.start_wait":  {"-1s", "0s", "10m", "601s"},
	} {
		for _, inside := range []string{e.low, e.high} {
			load(t, configs.Options{Flags: map[string]string{name: inside}})
		}
		for _, outside := range []string{e.below, e.above} {
			err := refused(t, configs.Options{Flags: map[string]string{name: outside}})
			if got := err.Error(); !strings.HasPrefix(got, name+": ") || !strings.Contains(got, "out of range: ") {
				t.Errorf("Load with %s=%s: %q, want the key and its range", name, outside, got)
			}
		}
	}
}

func TestPasswordsAreCheckedAndNotRepeated(t *testing.T) {
	const name = "ssq.password"
	for _, good := range []string{"", "12345678", "p@ss=word!", strings.Repeat("x", 128)} {
		if got := load(t, configs.Options{Flags: map[string]string{name: good}}).SSQ.Password; got != good {
			t.Errorf("password %q is read as %q", good, got)
		}
	}
	for _, bad := range []string{"secret7", "secret word", `secret"word`, "secret'word", `secret\word`, "secretwörd", strings.Repeat("secret", 22)} {
		err := refused(t, configs.Options{Flags: map[string]string{name: bad}})
		if got := err.Error(); !strings.HasPrefix(got, name+": ") || strings.Contains(got, "secret") {
			t.Errorf("Load with the password %q: %q, want the key and not the password", bad, got)
		}
	}
}
