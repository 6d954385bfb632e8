package services

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/qr2"
)

func TestDefaultsAreValid(t *testing.T) {
	c, warnings, err := Load(configs.Options{})
	if err != nil {
		t.Fatalf("Load of nothing: %v", err)
	}
	if len(warnings) > 0 {
		t.Errorf("Load of nothing warns: %q, want no warnings", warnings)
	}
	want := qr2.Config{
		Listen: ":27900", Sockets: 1, Readers: 1, ReadBuffer: 4 << 20, MaxPending: 8192,
		UnprovedRate: 20, UnprovedBurst: 60, AddError: true, Probe: true, Expire: 75 * time.Second,
	}
	if diff := cmp.Diff(want, c.QR2); diff != "" {
		t.Errorf("defaults of qr2, -want +got:\n%s", diff)
	}
	if got, want := c.Admin.TokenPath(c.DataDir), "respawnd-data/admin.token"; strings.ReplaceAll(got, `\`, "/") != want {
		t.Errorf("TokenPath() = %q, want %q", got, want)
	}
	if got, want := c.Games.Domains, []string{"gamespy.com"}; !slices.Equal(got, want) {
		t.Errorf("games.domains = %q, want %q", got, want)
	}
}

func TestCallerMayChangeDefault(t *testing.T) {
	clear(configs.Default())
	if !strings.Contains(string(configs.Default()), "data_dir:") {
		t.Error("configs.Default() hands out its own memory")
	}
}

func TestTokenPath(t *testing.T) {
	c := load(t, configs.Options{Flags: map[string]string{"admin.token_file": "/run/token"}})
	if got := c.Admin.TokenPath(c.DataDir); got != "/run/token" {
		t.Errorf("TokenPath() = %q, want /run/token", got)
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

// change is a value other than the default for each key.
func change(t *testing.T, name string) string {
	t.Helper()
	switch name {
	case "data_dir", "peerchat.motd_file", "peerchat.word_filter", "admin.token_file", "games.file", "geoip.file", "zanmaster.ban_files", "accounts.key_file", "webservices.key_file", "webservices.nas_downloads":
		return "/srv/elsewhere"
	case "webservices.rsa_mode":
		return "identity"
	case "cdkey.mode":
		return "strict"
	case "cdkey.products":
		return "461=strict"
	case "log.level":
		return "debug"
	case "log.format":
		return "json"
	case "net.trusted", "web.trusted_proxies", "webservices.snapshot_servers", "zanmaster.allow_servers", "zanmaster.allow_launchers", "dns.allow":
		return "192.0.2.0/24"
	case "ssq.password":
		return "correct-horse"
	case "storage.engine":
		return "postgres"
	case "storage.postgres.url":
		return "postgres://me:hidden-token@db.example.org/respawnd"
	case "cluster.name", "cluster.node":
		return "north"
	case "cluster.peers", "cluster.nats_url", "cluster.tls.cert", "cluster.tls.key", "cluster.tls.ca":
		return "192.0.2.5:6222"
	case "storage.postgres.url_file":
		return "/srv/elsewhere"
	case "mail.smtp_url":
		return "smtps://me:hidden-token@mail.example.org"
	case "mail.smtp_url_file":
		return "/srv/elsewhere"
	case "mail.from":
		return "noreply@example.org"
	case "web.contact":
		return "admin@example.org"
	case "web.public_url":
		return "https://servers.example.org"
	case "servers.static":
		return "a2s 192.0.2.1:27015"
	case "federation.masters":
		return "q3 master.example.org game=Xonotic protocol=3"
	case "federation.expire":
		return "99s"
	case "games.domains", "games.focus", "q3master.games", "admin.names", "dns.allow_private", "natneg.nodes":
		return "example.org"
	case "zanmaster.not_enforcing":
		return "mark"
	case "dns.upstreams":
		return "192.0.2.53"
	case "zanmaster.advertise_as", "dns.address", "web.game_address":
		return "192.0.2.9"
	case "net.advertise_as":
		return "10.0.0.0/8=192.0.2.9"
	case "nwmaster.accounts":
		return "strict"
	case "nwmaster.version":
		return "8110"
	case "webservices.motd", "nwmaster.motd", "web.title", "web.message":
		return "Welcome"
	case "web.links":
		return `[{title: Rules, url: "https://example.org/rules"}]`
	case "webservices.manglers", "webservices.ping_servers":
		return "mangler1.example.org"
	case "webservices.unlocks":
		return "all"
	case "webservices.ladders":
		return "<Ladders>"
	case "webservices.patches":
		return `[{product: 1, version: "1.0", name: "1.1"}]`
	case "webhooks":
		return "[{name: a, url: 'https://example.org/x', secret: 0123456789abcdef}]"
	case "gpcm.keepalive":
		return "47s"
	case "gpcm.second_login":
		return "allow"
	case "zanmaster.timeout", "zanmaster.query_every", "q3master.query_every", "idmaster.query_every", "codmaster.query_every", "nwmaster.query_every", "gpcm.ticket_renewal", "gstats.keep_for":
		return "99s"
	case "utmaster.probe_wait":
		return "7s"
	case "utmaster.list_pause":
		return "700ms"
	case "utmaster.timeout", "valvemaster.timeout", "q3master.timeout", "idmaster.timeout", "codmaster.timeout", "nwmaster.timeout":
		return "7m"
	case "qr2.read_buffer", "zanmaster.read_buffer", "valvemaster.read_buffer", "q3master.read_buffer", "idmaster.read_buffer", "codmaster.read_buffer", "nwmaster.read_buffer":
		return "512KiB"
	case "ssq.bytes_per_addr", "ssq.bytes_per_net", "gstats.max_block", "gstats.max_per_profile":
		return "33KiB"
	case "admin.audit_entries":
		return "333"
	case "webservices.match_age":
		return "47h"
	case "webservices.tls_listen":
		return "127.0.0.1:443"
	case "relay.ports":
		return "50000-50009"
	case "relay.pair_rate", "relay.addr_rate", "relay.total_rate":
		return "33KiB"
	case "relay.max_time":
		return "99s"
	case "natneg.extra_listen":
		return "127.0.0.1:4000"
	}
	for _, k := range configs.Keys(new(Config)) {
		switch {
		case k.Name != name:
		case strings.HasSuffix(name, ".listen"):
			return "127.0.0.1:4001"
		case k.Allowed == "true or false":
			if leaves(load(t, configs.Options{Flags: map[string]string{name: "true"}})) == leaves(load(t, configs.Options{})) {
				return "false"
			}
			return "true"
		case strings.HasSuffix(k.Allowed, "h") || strings.HasSuffix(k.Allowed, "m"):
			return "47s"
		case k.Allowed != "":
			return "33"
		}
	}
	t.Fatalf("no other value for %s: add it to this function", name)
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
		value := change(t, k.Name)
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

func TestRangesHoldAtTheirEdges(t *testing.T) {
	racetest.Skip(t, "loads each key")
	type edges struct{ below, low, high, above string }
	const many, conns = "10000000", "1000000"
	tests := map[string]edges{
		"storage.postgres.max_conns":         {"-1", "0", "10000", "10001"},
		"storage.postgres.statement_timeout": {"999ms", "1s", "5m", "301s"},
		"storage.postgres.start_wait":        {"-1s", "0s", "10m", "601s"},

		"qr2.sockets":                   {"0", "1", "64", "65"},
		"qr2.readers":                   {"0", "1", "64", "65"},
		"qr2.read_buffer":               {"4095", "4KiB", "1GiB", "1073741825"},
		"qr2.max_pending":               {"0", "1", many, "10000001"},
		"qr2.unproved_rate":             {"0", "1", conns, "1000001"},
		"qr2.unproved_burst":            {"0", "1", conns, "1000001"},
		"qr2.expire":                    {"29.999s", "30s", "1h", "1h0m0.001s"},
		"master.max_servers":            {"0", "1", many, "10000001"},
		"master.max_per_addr":           {"0", "1", many, "10000001"},
		"master.max_per_net":            {"0", "1", many, "10000001"},
		"master.save_every":             {"999ms", "1s", "1h", "61m"},
		"master.restore_for":            {"-1s", "0s", "1h", "61m"},
		"serverbrowse.max_conns":        {"0", "1", conns, "1000001"},
		"serverbrowse.max_per_addr":     {"0", "1", conns, "1000001"},
		"serverbrowse.rate":             {"0", "1", conns, "1000001"},
		"serverbrowse.burst":            {"0", "1", conns, "1000001"},
		"serverbrowse.first_byte":       {"999ms", "1s", "5m", "301s"},
		"serverbrowse.idle":             {"4.9s", "5s", "24h", "25h"},
		"serverbrowse.write":            {"999ms", "1s", "5m", "301s"},
		"serverbrowse.keepalive":        {"4.9s", "5s", "1h", "61m"},
		"serverbrowse.max_filter":       {"15", "16", "1024", "1025"},
		"serverbrowse.max_followed":     {"0", "1", "1000000", "1000001"},
		"gpcm.max_conns":                {"0", "1", conns, "1000001"},
		"gpcm.max_per_addr":             {"0", "1", conns, "1000001"},
		"gpcm.rate":                     {"0", "1", conns, "1000001"},
		"gpcm.burst":                    {"0", "1", conns, "1000001"},
		"gpcm.login_time":               {"4.9s", "5s", "10m", "601s"},
		"gpcm.keepalive":                {"4.9s", "5s", "115s", "116s"},
		"gpcm.write":                    {"999ms", "1s", "10m", "601s"},
		"gpcm.user_timeout":             {"9.9s", "10s", "10m", "601s"},
		"gpcm.ticket_renewal":           {"59s", "1m", "47h", "48h"},
		"gpcm.registrations":            {"-1", "0", conns, "1000001"},
		"gpsp.max_conns":                {"0", "1", conns, "1000001"},
		"gpsp.max_per_addr":             {"0", "1", conns, "1000001"},
		"gpsp.rate":                     {"0", "1", conns, "1000001"},
		"gpsp.burst":                    {"0", "1", conns, "1000001"},
		"gpsp.idle":                     {"4.9s", "5s", "10m", "601s"},
		"gpsp.write":                    {"999ms", "1s", "10m", "601s"},
		"gpsp.lookups":                  {"-1", "0", conns, "1000001"},
		"gpsp.valid_per_net":            {"-1", "0", conns, "1000001"},
		"gpsp.registrations":            {"-1", "0", conns, "1000001"},
		"zanmaster.sockets":             {"0", "1", "64", "65"},
		"zanmaster.readers":             {"0", "1", "64", "65"},
		"zanmaster.read_buffer":         {"4095", "4KiB", "1GiB", "1073741825"},
		"zanmaster.ban_files_poll":      {"-1s", "0s", "1h", "61m"},
		"zanmaster.servers_per_address": {"-1", "0", "65535", "65536"},
		"zanmaster.timeout":             {"60s", "61s", "10m", "601s"},
		"zanmaster.max_pending":         {"0", "1", many, "10000001"},
		"zanmaster.unproved_rate":       {"0", "1", conns, "1000001"},
		"zanmaster.unproved_burst":      {"0", "1", conns, "1000001"},
		"zanmaster.list_window":         {"-1s", "0s", "10m", "601s"},
		"zanmaster.lists_per_net":       {"-1", "0", many, "10000001"},
		"zanmaster.lists_total":         {"-1", "0", many, "10000001"},
		"zanmaster.query_every":         {"59s", "1m", "1h", "61m"},
		"natneg.max_open":               {"0", "1", "10000000", "10000001"},
		"natneg.max_per_addr":           {"0", "1", "10000000", "10000001"},
		"natneg.rate":                   {"0", "1", "1000000", "1000001"},
		"natneg.burst":                  {"0", "1", "1000000", "1000001"},
		"serverbrowse.message_rate":     {"0", "1", "10000", "10001"},
		"serverbrowse.message_burst":    {"0", "1", "10000", "10001"},
		"legacylist.max_conns":          {"0", "1", conns, "1000001"},
		"legacylist.max_per_addr":       {"0", "1", conns, "1000001"},
		"gstats.max_conns":              {"0", "1", conns, "1000001"},
		"gstats.max_per_addr":           {"0", "1", conns, "1000001"},
		"gstats.rate":                   {"0", "1", conns, "1000001"},
		"gstats.burst":                  {"0", "1", conns, "1000001"},
		"gstats.login_time":             {"4.9s", "5s", "10m", "601s"},
		"gstats.keepalive":              {"4.9s", "5s", "1h", "61m"},
		"gstats.idle":                   {"9.9s", "10s", "48h", "49h"},
		"gstats.write":                  {"999ms", "1s", "10m", "601s"},
		"gstats.user_timeout":           {"9.9s", "10s", "10m", "601s"},
		"gstats.writes":                 {"0", "1", conns, "1000001"},
		"gstats.writes_burst":           {"0", "1", conns, "1000001"},
		"gstats.reports":                {"0", "1", conns, "1000001"},
		"gstats.reports_per_addr":       {"0", "1", conns, "1000001"},
		"gstats.max_block":              {"1023", "1KiB", "1MiB", "1048577"},
		"gstats.max_per_profile":        {"1023", "1KiB", "8MiB", "8388609"},
		"gstats.keep_games":             {"0", "1", conns, "1000001"},
		"gstats.keep_for":               {"59s", "1m", "87600h", "87601h"},
		"cdkey.rate":                    {"0", "1", conns, "1000001"},
		"cdkey.burst":                   {"0", "1", conns, "1000001"},
		"relay.max_pairs":               {"0", "1", "30000", "30001"},
		"relay.max_per_addr":            {"0", "1", "30000", "30001"},
		"relay.max_per_net":             {"0", "1", "30000", "30001"},
		"relay.pair_rate":               {"4095", "4KiB", "1GiB", "1073741825"},
		"relay.addr_rate":               {"4095", "4KiB", "1GiB", "1073741825"},
		"relay.total_rate":              {"4095", "4KiB", "1GiB", "1073741825"},
		"relay.idle":                    {"9.999s", "10s", "1h", "1h0m0.001s"},
		"relay.max_time":                {"59.999s", "1m", "168h", "168h0m0.001s"},
		"quickmatch.interval":           {"99ms", "100ms", "1m", "61s"},
		"quickmatch.announce":           {"999ms", "1s", "10m", "601s"},
		"quickmatch.max_players":        {"1", "2", "5000", "5001"},
		"mangler.rate":                  {"0", "1", conns, "1000001"},
		"mangler.burst":                 {"0", "1", conns, "1000001"},
		"peerchat.max_conns":            {"0", "1", conns, "1000001"},
		"peerchat.max_per_addr":         {"0", "1", conns, "1000001"},
		"peerchat.rate":                 {"0", "1", conns, "1000001"},
		"peerchat.burst":                {"0", "1", conns, "1000001"},
		"peerchat.login_time":           {"4.9s", "5s", "10m", "601s"},
		"peerchat.idle":                 {"9.9s", "10s", "1h", "61m"},
		"peerchat.write":                {"999ms", "1s", "10m", "601s"},
		"peerchat.max_channels":         {"0", "1", conns, "1000001"},
		"peerchat.max_joined":           {"2", "3", "1000", "1001"},
		"peerchat.max_members":          {"1", "2", "100000", "100001"},
		"peerchat.pace":                 {"0", "1", conns, "1000001"},
		"peerchat.pace_burst":           {"9", "10", conns, "1000001"},
		"peerchat.pace_per_addr":        {"0", "1", conns, "1000001"},
		"peerchat.pace_per_addr_burst":  {"9", "10", many, "10000001"},
		"peerchat.weight_message":       {"-1", "0", "1000", "1001"},
		"peerchat.weight_change":        {"-1", "0", "1000", "1001"},
		"peerchat.weight_keys":          {"-1", "0", "1000", "1001"},
		"peerchat.weight_list":          {"-1", "0", "1000", "1001"},
		"peerchat.history":              {"-1", "0", "1000", "1001"},
		"legacylist.rate":               {"0", "1", conns, "1000001"},
		"legacylist.burst":              {"0", "1", conns, "1000001"},
		"legacylist.request_time":       {"999ms", "1s", "1m", "61s"},
		"admin.audit_entries":           {"99", "100", "1000000", "1000001"},
		"admin.log_lines":               {"9", "10", "100000", "100001"},
		"ssq.bytes_per_addr":            {"4095", "4KiB", "1GiB", "1073741825"},
		"ssq.bytes_per_net":             {"4095", "4KiB", "1GiB", "1073741825"},
		"lan.every":                     {"4.9s", "5s", "1h", "61m"},
		"mail.per_address":              {"-1", "0", conns, "1000001"},
		"mail.per_account":              {"0", "1", "1000", "1001"},
		"mail.total":                    {"0", "1", conns, "1000001"},
		"web.forms":                     {"-1", "0", conns, "1000001"},
		"web.registrations":             {"-1", "0", conns, "1000001"},
		"web.max_conns":                 {"0", "1", conns, "1000001"},
		"web.max_per_addr":              {"0", "1", conns, "1000001"},
		"web.rate":                      {"-1", "0", conns, "1000001"},
		"web.burst":                     {"0", "1", conns, "1000001"},
		"webservices.max_conns":         {"0", "1", conns, "1000001"},
		"webservices.max_per_addr":      {"0", "1", conns, "1000001"},
		"webservices.rate":              {"-1", "0", conns, "1000001"},
		"webservices.burst":             {"0", "1", conns, "1000001"},
		"webservices.registrations":     {"-1", "0", conns, "1000001"},

		"webservices.match_wait":   {"9.9s", "10s", "24h", "25h"},
		"webservices.matches_kept": {"0", "1", conns, "1000001"},
		"webservices.match_age":    {"59m", "1h", "87600h", "87601h"},

		"webservices.match_reports":  {"-1", "0", conns, "1000001"},
		"webservices.match_sessions": {"-1", "0", conns, "1000001"},

		"webservices.player_requests":         {"-1", "0", "1000000", "1000001"},
		"webservices.player_writes":           {"-1", "0", "1000000", "1000001"},
		"webservices.tls_handshakes":          {"0", "1", "100000", "100001"},
		"webservices.tls_handshakes_per_addr": {"0", "1", "100000", "100001"},
		"webservices.tls_pending":             {"0", "1", "100000", "100001"},
		"webservices.request_size":            {"0", "1", "16MiB", "16777217"},
		"webservices.fields_per_record":       {"0", "1", "1000", "1001"},
		"webservices.value_size":              {"0", "1", "1MiB", "1048577"},
		"webservices.record_size":             {"0", "1", "4MiB", "4194305"},
		"webservices.records_per_owner":       {"0", "1", "10000", "10001"},
		"webservices.player_records":          {"0", "1", "10000", "10001"},
		"webservices.player_record_size":      {"0", "1", "1GiB", "1073741825"},
		"webservices.tables_per_game":         {"0", "1", "100000", "100001"},
		"webservices.records_per_game":        {"0", "1", "100000000", "100000001"},
		"webservices.max_records":             {"0", "1", "100000000", "100000001"},
		"webservices.max_record_space":        {"0", "1", "1024GiB", "1099511627777"},
		"webservices.scan_records":            {"0", "1", "10000000", "10000001"},
		"webservices.file_size":               {"0", "1", "64MiB", "67108865"},
		"webservices.player_files":            {"-1", "0", "200000", "200001"},
		"webservices.player_file_size":        {"0", "1", "64GiB", "68719476737"},
		"webservices.max_files":               {"-1", "0", "200000", "200001"},
		"webservices.max_file_space":          {"0", "1", "1024GiB", "1099511627777"},
		"webservices.max_uploads":             {"-1", "0", "100000", "100001"},
		"webservices.max_uploads_per_addr":    {"0", "1", "100000", "100001"},

		"web.max_streams":            {"0", "1", conns, "1000001"},
		"web.max_streams_per_addr":   {"0", "1", conns, "1000001"},
		"federation.every":           {"29s", "30s", "24h", "86401s"},
		"federation.max_per_master":  {"0", "1", "200000", "200001"},
		"federation.expire":          {"59s", "1m", "168h", "604801s"},
		"probe.every":                {"9.9s", "10s", "1h", "61m"},
		"probe.rate":                 {"0", "1", "10000", "10001"},
		"probe.max_servers":          {"0", "1", many, "10000001"},
		"probe.max_games":            {"0", "1", conns, "1000001"},
		"valvemaster.sockets":        {"0", "1", "64", "65"},
		"valvemaster.readers":        {"0", "1", "64", "65"},
		"valvemaster.read_buffer":    {"4095", "4KiB", "1GiB", "1073741825"},
		"valvemaster.timeout":        {"359s", "6m", "24h", "86401s"},
		"valvemaster.unproved_rate":  {"0", "1", conns, "1000001"},
		"valvemaster.unproved_burst": {"0", "1", conns, "1000001"},
		"valvemaster.pages_per_net":  {"-1", "0", many, "10000001"},
		"valvemaster.keyed_pages":    {"-1", "0", many, "10000001"},
		"q3master.max_games":         {"0", "1", conns, "1000001"},
		"nwmaster.max_checks":        {"0", "1", "65536", "65537"},
		"utmaster.max_conns":         {"0", "1", conns, "1000001"},
		"utmaster.max_per_addr":      {"0", "1", conns, "1000001"},
		"utmaster.rate":              {"0", "1", conns, "1000001"},
		"utmaster.burst":             {"0", "1", conns, "1000001"},
		"utmaster.servers_per_addr":  {"-1", "0", "65535", "65536"},
		"utmaster.request_time":      {"999ms", "1s", "1m", "61s"},
		"utmaster.timeout":           {"119s", "2m", "1h", "61m"},
		"utmaster.list_pause":        {"-1s", "0s", "1s", "1001ms"},
		"utmaster.probe_wait":        {"99ms", "100ms", "30s", "31s"},
		"dns.rate":                   {"0", "1", conns, "1000001"},
		"dns.burst":                  {"0", "1", conns, "1000001"},
		"dns.max_forwards":           {"0", "1", "10000", "10001"},
		"valvemaster.max_per_addr":   {"-1", "0", "65535", "65536"},
		"valvemaster.pages_per_addr": {"-1", "0", many, "10000001"},
	}
	for key, at := range map[string]edges{ // of all masters of this kind
		"sockets": {"0", "1", "64", "65"}, "readers": {"0", "1", "64", "65"}, "read_buffer": {"4095", "4KiB", "1GiB", "1073741825"},
		"max_per_addr": {"-1", "0", "65535", "65536"}, "max_pending": {"0", "1", many, "10000001"}, "timeout": {"359s", "6m", "24h", "86401s"},
		"unproved_rate": {"0", "1", conns, "1000001"}, "unproved_burst": {"0", "1", conns, "1000001"}, "query_every": {"59s", "1m", "1h", "61m"},
		"list_burst": {"0", "1", "10000", "10001"}, "list_window": {"-1s", "0s", "10m", "601s"}, "lists_per_net": {"-1", "0", many, "10000001"},
		"lists_total": {"-1", "0", many, "10000001"},
	} {
		for _, master := range []string{"q3master", "idmaster", "codmaster", "nwmaster"} {
			if master != "nwmaster" || !strings.HasPrefix(key, "list") { // it sends no lists
				tests[master+"."+key] = at
			}
		}
	}
	for _, k := range configs.Keys(new(Config)) {
		e, found := tests[k.Name]
		if !found {
			if strings.Contains(k.Allowed, " to ") {
				t.Errorf("no edges for %s in this test", k.Name)
			}
			continue
		}
		for _, inside := range []string{e.low, e.high} {
			load(t, configs.Options{Flags: map[string]string{k.Name: inside}})
		}
		for _, outside := range []string{e.below, e.above} {
			err := refused(t, configs.Options{Flags: map[string]string{k.Name: outside}})
			if got := err.Error(); !strings.HasPrefix(got, k.Name+": ") || !strings.Contains(got, "out of range: "+k.Allowed) {
				t.Errorf("Load with %s=%s: %q, want the key and its range", k.Name, outside, got)
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
