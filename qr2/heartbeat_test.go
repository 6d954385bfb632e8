package qr2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

// rules appends a section of rules: names and values in turn.
func rules(b []byte, pairs ...string) []byte {
	for _, s := range pairs {
		b = append(append(b, s...), 0)
	}
	return append(b, 0)
}

// table appends a table: the number of rows it claims, names, values.
func table(b []byte, rows int, names []string, values ...string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(rows))
	for _, s := range names {
		b = append(append(b, s...), 0)
	}
	b = append(b, 0)
	for _, s := range values {
		b = append(append(b, s...), 0)
	}
	return b
}

// beat returns the header of a heartbeat and the rule that every heartbeat has.
func beat() []byte { return []byte("\x03\x01\x02\x03\x04gamename\x00gmtest\x00") }

// view is a report in plain words.
type view struct {
	Rules          []string
	Players, Teams [][]string
	Game           string
	State          state
	NATNeg         bool
	Local          string
}

// viewOf reads a heartbeat with the code under test.
func viewOf(list *master.Registry, b []byte, hint *master.Server) (view, error) {
	s, f, err := read(list, b, hint)
	if err != nil {
		return view{}, err
	}
	return view{
		pairs(s.Rules), tableOf(s.Players), tableOf(s.Teams),
		string(f.game), f.state, f.natNeg, fmt.Sprint(f.local(netip.Addr{}, nil)),
	}, nil
}

// plainView reads a heartbeat in the plainest way, to compare with.
func plainView(b []byte) (view, error) {
	v := view{Local: "[]"}
	b = b[header:]
	text := func() (string, bool) {
		s, rest, ok := bytes.Cut(b, []byte{0})
		if ok {
			b = rest
		}
		return string(s), ok
	}
	var seen []string
	all := make(map[string]string)
	whole := false
	for kept := 0; ; {
		before := b
		name, ok := text()
		if !ok {
			break
		}
		if name == "" {
			whole = true
			break
		}
		value, ok := text()
		if !ok {
			b = before
			break
		}
		if name != "statechanged" {
			kept++
		}
		if kept > master.MaxNames {
			return view{}, errTooMuch
		}
		if _, again := all[name]; !again {
			all[name] = value
		}
		if folded := foldASCII(name); name != "statechanged" && !slices.Contains(seen, folded) {
			seen = append(seen, folded)
			if a, ok := parseIPv4([]byte(value)); ok && !joinable(a) && strings.HasPrefix(folded, "localip") && len(folded) == len("localip0") {
				value = ""
			}
			v.Rules = append(v.Rules, name, value)
		}
	}
	v.Game = all["gamename"]
	if v.Game == "" {
		return view{}, errNoGame
	}
	if s := all["statechanged"]; len(s) == 1 && s[0] >= '0' && s[0] <= '3' {
		v.State = state(s[0] - '0')
	}
	v.NATNeg = all["natneg"] == "1"
	v.Local = plainLocal(all)
	if !whole {
		return v, nil
	}
	first, cut := plainTable(&b)
	if cut {
		return v, nil
	}
	second, _ := plainTable(&b)
	if isTeams(first) {
		v.Teams = dropColumns(first)
		if !isTeams(second) {
			v.Players = dropColumns(second)
		}
		return v, nil
	}
	v.Players, v.Teams = dropColumns(first), dropColumns(second)
	return v, nil
}

// plainTable reads one table; the first row has the names. cut is set if there
// is none or not all of it.
func plainTable(p *[]byte) (rows [][]string, cut bool) {
	b := *p
	if len(b) < 2 {
		return nil, true
	}
	n := int(binary.BigEndian.Uint16(b))
	b = b[2:]
	var names []string
	for {
		s, rest, ok := bytes.Cut(b, []byte{0})
		if !ok || len(names) == master.MaxNames && len(s) > 0 {
			return nil, true
		}
		b = rest
		if len(s) == 0 {
			break
		}
		names = append(names, string(s))
	}
	if len(names) > 0 {
		if bytes.Count(b, []byte{0}) < n*len(names) {
			return nil, true
		}
		rows = append(rows, names)
		for range n {
			row := make([]string, len(names))
			for i := range row {
				s, rest, _ := bytes.Cut(b, []byte{0})
				row[i], b = string(s), rest
			}
			rows = append(rows, row)
		}
	}
	*p = b
	return rows, false
}

func isTeams(rows [][]string) bool {
	return len(rows) > 0 && !slices.ContainsFunc(rows[0], func(s string) bool { return !strings.HasSuffix(s, "_t") })
}

// dropColumns leaves out repeated columns, and the one that is never kept.
func dropColumns(rows [][]string) [][]string {
	if len(rows) == 0 {
		return nil
	}
	var seen []string
	out := make([][]string, len(rows))
	for i, name := range rows[0] {
		if folded := foldASCII(name); name != "statechanged" && !slices.Contains(seen, folded) {
			seen = append(seen, folded)
			for r := range rows {
				out[r] = append(out[r], rows[r][i])
			}
		}
	}
	if len(seen) == 0 {
		return nil
	}
	return out
}

func foldASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 32
		}
	}
	return string(b)
}

func plainLocal(all map[string]string) string {
	var port uint16
	if _, err := fmt.Sscanf(all["localport"], "%d", &port); err != nil || fmt.Sprint(port) != strings.TrimLeft(all["localport"], "0") {
		return "[]"
	}
	var list []netip.AddrPort
	for i := range maxLocal {
		if a, ok := parseIPv4([]byte(all[fmt.Sprint("localip", i)])); ok && joinable(a) {
			list = append(list, netip.AddrPortFrom(a, port))
		}
	}
	return fmt.Sprint(list)
}

// A host that does not know its address reports 0.0.0.0 (the last client library on Linux). The
// address that its packets come from takes the place, if it is one that a host counts as private:
// players compute the name of its staging room from it.
func TestUnknownLocalAddress(t *testing.T) {
	for _, tt := range []struct{ source, ip0, ip1, port, want string }{
		{"192.168.1.20:6500", "0.0.0.0", "", "6500", "[192.168.1.20:6500]"},
		{"10.1.2.3:30000", "0.0.0.0", "", "6500", "[10.1.2.3:6500]"},
		{"192.168.1.20:6500", "0.0.0.0", "10.0.0.7", "6500", "[10.0.0.7:6500]"},
		{"192.168.1.20:6500", "10.0.0.7", "0.0.0.0", "6500", "[10.0.0.7:6500]"},
		{"192.168.1.20:6500", "", "", "6500", "[]"}, // it reports none
		{"192.168.1.20:6500", "0.0.0.0", "", "0", "[]"},
		{"203.0.113.7:6500", "0.0.0.0", "", "6500", "[]"}, // the host takes no such address, and 0.0.0.0 then
		{"127.0.0.1:6500", "0.0.0.0", "", "6500", "[]"},
	} {
		in := newIntake(t, nil)
		h := in.host(tt.source)
		var pairs []string
		for name, value := range map[string]string{"localip0": tt.ip0, "localip1": tt.ip1} {
			if value != "" {
				pairs = append(pairs, name, value)
			}
		}
		beat := func(more ...string) []byte {
			b := h.packet(KindHeartbeat)
			for _, s := range slices.Concat(pairs, []string{"localport", tt.port, "gamename", h.game}, more) {
				b = append(append(b, s...), 0)
			}
			return append(b, 0)
		}
		if dropped := h.send(h.answer(h.challenged(beat()))); dropped != uplink.NotDropped {
			t.Fatalf("%v: dropped: %s", tt, dropped)
		}
		listed := func() string {
			srv, ok := in.list.Get(h.key())
			if !ok {
				t.Fatalf("%v: not listed", tt)
			}
			return fmt.Sprint(srv.Local)
		}
		if got := listed(); got != tt.want {
			t.Errorf("%v: listed with the local addresses %s", tt, got)
		}
		h.send(beat("hostname", "Arena", "statechanged", "1"))
		if got := listed(); got != tt.want {
			t.Errorf("%v: listed with the local addresses %s after another report", tt, got)
		}
	}
}

func TestOddHeartbeats(t *testing.T) {
	players, teams := []string{"player_", "score_"}, []string{"team_t", "score_t"}
	game := []string{"gamename", "gmtest"}
	withGame := func(more ...string) []string { return slices.Concat(game, more) }
	plain := view{Rules: game, Game: "gmtest", Local: "[]"}
	with := func(change func(*view)) view {
		v := plain
		change(&v)
		return v
	}
	pTable, tTable := [][]string{players, {"Joe", "1"}}, [][]string{teams, {"Red", ""}}
	both := with(func(v *view) { v.Players, v.Teams = pTable, tTable })

	tests := map[string]struct {
		packet []byte
		want   view
	}{
		"rules alone":            {rules(beat()), plain},
		"no end of the rules":    {beat(), plain},
		"players and teams":      {table(table(rules(beat()), 1, players, "Joe", "1"), 1, teams, "Red", ""), both},
		"something behind it":    {append(table(table(rules(beat()), 1, players, "Joe", "1"), 1, teams, "Red", ""), "\x01more"...), both},
		"teams before players":   {table(table(rules(beat()), 1, teams, "Red", ""), 1, players, "Joe", "1"), both},
		"teams alone":            {table(rules(beat()), 1, teams, "Red", ""), with(func(v *view) { v.Teams = tTable })},
		"teams twice":            {table(table(rules(beat()), 1, teams, "Red", ""), 1, teams, "Blue", ""), with(func(v *view) { v.Teams = tTable })},
		"empty players":          {table(table(rules(beat()), 0, nil), 1, teams, "Red", ""), with(func(v *view) { v.Teams = tTable })},
		"columns without rows":   {table(table(rules(beat()), 0, players), 0, teams), with(func(v *view) { v.Players, v.Teams = [][]string{players}, [][]string{teams} })},
		"rows without columns":   {table(table(rules(beat()), 9, nil), 1, teams, "Red", ""), with(func(v *view) { v.Teams = tTable })},
		"65,535 players":         {table(rules(beat()), 65535, players, "Joe", "1"), plain},
		"65,535 teams":           {table(table(rules(beat()), 1, players, "Joe", "1"), 65535, teams, "Red"), with(func(v *view) { v.Players = pTable })},
		"cut in the players":     {table(table(rules(beat()), 2, players, "Joe", "1", "Jim"), 1, teams)[:len(table(rules(beat()), 2, players, "Joe", "1", "Jim"))], plain},
		"cut in a count":         {append(rules(beat()), 0), plain},
		"cut in a column":        {append(rules(beat()), "\x00\x01player_"...), plain},
		"cut behind the columns": {append(rules(beat()), "\x00\x01player_\x00"...), plain},
		"empty values":           {table(rules(beat(), "a", "", "b", ""), 1, players, "", ""), with(func(v *view) { v.Rules = withGame("a", "", "b", ""); v.Players = [][]string{players, {"", ""}} })},
		"cut in a value":         {append(beat(), "a\x00b\x00hostname\x00Te"...), with(func(v *view) { v.Rules = withGame("a", "b") })},
		"cut in a name":          {append(beat(), "a\x00b\x00host"...), with(func(v *view) { v.Rules = withGame("a", "b") })},
		"a repeated key":         {rules(beat(), "a", "1", "A", "2", "a", "3", "gamename", "else"), with(func(v *view) { v.Rules = withGame("a", "1") })},
		"repeated fixed keys": {
			rules(beat(), "natneg", "1", "statechanged", "3", "localip0", "10.0.0.1", "localport", "7", "natneg", "0", "statechanged", "2", "localip0", "10.0.0.9", "localport", "8"),
			with(func(v *view) {
				v.Rules = withGame("natneg", "1", "localip0", "10.0.0.1", "localport", "7")
				v.NATNeg, v.State, v.Local = true, stateStarting, "[10.0.0.1:7]"
			}),
		},
		"not UTF-8": {
			rules(beat(), "h\xf6st", "\xff\xfe", "h\xe4st", "\x80"),
			with(func(v *view) { v.Rules = withGame("h\xf6st", "\xff\xfe", "h\xe4st", "\x80") }),
		},
		"unknown keys": {rules(beat(), "unknown", "", "unknown", "4"), with(func(v *view) { v.Rules = withGame("unknown", "") })},
		"a repeated column": {
			table(rules(beat()), 2, []string{"player_", "x_", "player_"}, "a", "b", "c", "d", "e", "f"),
			with(func(v *view) { v.Players = [][]string{{"player_", "x_"}, {"a", "b"}, {"d", "e"}} }),
		},
		"local addresses": {
			rules(beat(), "localip0", "192.168.1.5", "localip1", "256.0.0.1", "localip2", "10.0.0.1", "localip3", "1.2.3", "localip4", "", "localip5", "1.2.3.4", "localport", "6500"),
			with(func(v *view) {
				v.Rules = withGame("localip0", "192.168.1.5", "localip1", "256.0.0.1", "localip2", "10.0.0.1", "localip3", "1.2.3", "localip4", "", "localip5", "1.2.3.4", "localport", "6500")
				v.Local = "[192.168.1.5:6500 10.0.0.1:6500]"
			}),
		},
		"local addresses that cannot be joined": {
			rules(beat(), "localip0", "0.0.0.0", "localip1", "224.0.0.1", "localip2", "255.255.255.255", "localip3", "127.0.0.1", "localip4", "169.254.1.2", "localport", "6500"),
			with(func(v *view) {
				v.Rules = withGame("localip0", "", "localip1", "", "localip2", "", "localip3", "127.0.0.1", "localip4", "169.254.1.2", "localport", "6500")
				v.Local = "[127.0.0.1:6500 169.254.1.2:6500]"
			}),
		},
		"more local addresses that cannot be joined": {
			rules(beat(), "LocalIP0", "0.0.0.7", "localip1", "239.255.255.250", "localip2", "240.0.0.1", "localip3", "10.0.0.1", "localport", "6500"),
			with(func(v *view) {
				v.Rules = withGame("LocalIP0", "", "localip1", "", "localip2", "", "localip3", "10.0.0.1", "localport", "6500")
				v.Local = "[10.0.0.1:6500]"
			}),
		},
		"a port that is none": {
			rules(beat(), "localip0", "192.168.1.5", "localport", "65536"),
			with(func(v *view) { v.Rules = withGame("localip0", "192.168.1.5", "localport", "65536") }),
		},
		"a state that is none": {rules(beat(), "statechanged", "4"), plain},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			list := master.NewRegistry(master.Limits{})
			got, err := viewOf(list, tt.packet, nil)
			if err != nil {
				t.Fatalf("parse(%q): %v", tt.packet, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("parse(%q) (-want +got):\n%s", tt.packet, diff)
			}
			checkHints(t, list, tt.packet)
		})
	}
}

func TestHeartbeatsThatAreRefused(t *testing.T) {
	many := func(n int) []byte {
		b := beat() // one pair
		for range n - 1 {
			b = append(b, "k\x00\x00"...)
		}
		return append(b, 0)
	}
	tests := map[string]struct {
		packet []byte
		want   error
	}{
		"empty":                {nil, errTooShort},
		"half a header":        {[]byte{3, 1, 2, 3}, errTooShort},
		"header alone":         {[]byte{3, 1, 2, 3, 4}, errNoGame},
		"no game":              {rules([]byte("\x03\x01\x02\x03\x04"), "hostname", "x"), errNoGame},
		"empty game":           {rules([]byte("\x03\x01\x02\x03\x04"), "gamename", ""), errNoGame},
		"empty game at first":  {rules([]byte("\x03\x01\x02\x03\x04"), "gamename", "", "gamename", "gmtest"), errNoGame},
		"game behind the end":  {append(rules([]byte("\x03\x01\x02\x03\x04")), "gamename\x00gmtest\x00"...), errNoGame},
		"as many pairs as fit": {many(master.MaxNames), nil},
		"one pair more":        {many(master.MaxNames + 1), errTooMuch},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := peek(tt.packet); !errors.Is(err, tt.want) {
				t.Errorf("peek: got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestStateComesAndGoesWithoutANewRecord(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	h.register("hostname", "x")
	before, _ := in.list.Get(h.key())
	for _, pairs := range [][]string{
		{"statechanged", "1", "hostname", "x"}, {"hostname", "x"}, {"hostname", "x", "statechanged", "1"}, {"statechanged", "1", "statechanged", "2", "hostname", "x"},
	} {
		if dropped := h.send(h.heartbeat(pairs...)); dropped != uplink.NotDropped {
			t.Fatalf("heartbeat with %q: dropped: %s", pairs, dropped)
		}
		if got, _ := in.list.Get(h.key()); got != before {
			t.Errorf("heartbeat with %q, which says nothing new, made a new record", pairs)
			before = got
		}
	}
}

// checkHints parses a packet with hints that fit, fit in part and do not fit.
func checkHints(t *testing.T, list *master.Registry, packet []byte) {
	t.Helper()
	want, wantErr := viewOf(list, packet, nil)
	hints := []*master.Server{{}}
	if wantErr == nil {
		own := recordOf(t, list, packet, nil)
		hints = append(hints, &own, &master.Server{Rules: own.Rules}, &master.Server{Players: own.Teams, Teams: own.Players})
	}
	for _, b := range [][]byte{
		table(table(rules(beat(), "a", "b"), 1, []string{"player_"}, "Joe"), 0, []string{"team_t"}),
		table(rules(beat(), "statechanged", "1"), 0, []string{"player_", "score_"}),
	} {
		foreign := recordOf(t, list, b, nil)
		hints = append(hints, &foreign)
	}
	for i, hint := range hints {
		got, err := viewOf(list, packet, hint)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("parse(%q) with hint %d: got error %v, without %v", packet, i, err, wantErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("parse(%q) with hint %d (-without +with):\n%s", packet, i, diff)
		}
	}
}

func FuzzParseHeartbeat(f *testing.F) {
	for _, c := range captures(f) {
		for _, b := range c.ofKind(f, "host", KindHeartbeat) {
			f.Add(b)
		}
	}
	f.Add(table(table(rules(beat(), "a", "", "A", "x", "statechanged", "1"), 1, []string{"team_t"}, "Red"), 2, []string{"player_", "player_"}, "1", "2", "3", "4"))
	f.Add(table(rules(beat()), 65535, []string{"player_"}))
	f.Add(table(table(rules(beat()), 65535, nil), 1, []string{"statechanged"}, "x"))
	list := master.NewRegistry(master.Limits{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < header || len(b) > MaxPacket {
			return
		}
		got, err := viewOf(list, b, nil)
		want, wantErr := plainView(b)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("parse(%q): got error %v, want %v", b, err, wantErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("parse(%q) (-want +got):\n%s", b, diff)
		}
		checkHints(t, list, b)
		if q, err := peek(b); err == nil && (string(q.game) != want.Game || q.state != want.State || q.natNeg != want.NATNeg) {
			t.Errorf("peek(%q): got %q %d %v, want %q %d %v", b, q.game, q.state, q.natNeg, want.Game, want.State, want.NATNeg)
		}
	})
}

// The names of the report before are expected in the first one of another server, and
// reports with other names are read as they are.
func TestFirstReportAfterAnother(t *testing.T) {
	list := master.NewRegistry(master.Limits{})
	d := newDecoder(list)
	read := func(b []byte) *master.Server {
		t.Helper()
		var report master.Report
		d.Decode(b[header:], master.Shape{}, &report)
		var s master.Server
		if err := report.Into(&s); err != nil {
			t.Fatal(err)
		}
		return &s
	}
	h := host{instance: 1, game: "gmtest"}
	withTables := func(hostname, player, column string) []byte {
		b := table(h.heartbeat("hostname", hostname), 1, []string{column}, player)
		return table(b, 1, []string{"team_t"}, "Red")
	}
	first := read(withTables("first", "alpha", "player_"))
	for name, tc := range map[string]struct {
		packet                []byte
		hostname, player, col string
		players, teams        int
	}{
		"same names":     {withTables("second", "beta", "player_"), "second", "beta", "player_", 1, 1},
		"other column":   {withTables("third", "gamma", "name_"), "third", "gamma", "name_", 1, 1},
		"without tables": {h.heartbeat("hostname", "fourth"), "fourth", "", "", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := read(tc.packet)
			if got, _ := s.Rules.Get("hostname"); got != tc.hostname || s.Players.Rows() != tc.players || s.Teams.Rows() != tc.teams {
				t.Fatalf("hostname %q, %d players, %d teams, want %q, %d, %d", got, s.Players.Rows(), s.Teams.Rows(), tc.hostname, tc.players, tc.teams)
			}
			if tc.players > 0 && (s.Players.Value(0, 0) != tc.player || s.Players.Names().Name(0) != tc.col) {
				t.Errorf("player %q in %q, want %q in %q", s.Players.Value(0, 0), s.Players.Names().Name(0), tc.player, tc.col)
			}
			if s.Rules.Names() != first.Rules.Names() {
				t.Error("the names of the rules are not shared")
			}
		})
	}
}
