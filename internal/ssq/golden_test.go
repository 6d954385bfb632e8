package ssq

import (
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHeadersOfTheDraft(t *testing.T) {
	for wire, want := range map[string]Header{
		"5d00": {ID: 0x5D, Count: 1, Number: 0},
		"5f21": {ID: 0x5F, Count: 3, Number: 1}, // the middle of three
		"00ff": {ID: 0, Count: 16, Number: 15},
	} {
		packet, err := hex.DecodeString(wire)
		if err != nil {
			t.Fatal(err)
		}
		got, body, err := ParseHeader(append(packet, "body"...))
		if err != nil || got != want || string(body) != "body" {
			t.Errorf("ParseHeader(%s) = %+v, %q, %v; want %+v", wire, got, body, err, want)
		}
		if b := want.AppendTo(nil); hex.EncodeToString(b) != wire {
			t.Errorf("%+v is written as %x, want %s", want, b, wire)
		}
	}
}

// serverRow is the server of the draft's examples.
var (
	serverColumns = []string{"hostname", "ip", "port", "map", "game", "x-secure"}
	serverRow     = []string{"My Server", "1.2.3.4", "27015", "de_dust", "cstrike", "1"}
)

func TestTablesOfTheDraft(t *testing.T) {
	for name, tc := range map[string]struct {
		wire  string
		asked []string
		want  Table
		lax   bool // read, but not written so
	}{
		"example 3 and 5": {
			wire: "hostname\x00ip\x00port\x00map\x00game\x00x-secure\x00\n\x00My Server\x001.2.3.4\x0027015\x00de_dust\x00cstrike\x001\x00\n\x00",
			want: Table{Columns: serverColumns, Rows: [][]string{serverRow}},
		},
		"example 4, escapes": {
			wire: "a\x00b\x00\n\x00" + `John\nBob` + "\x00Joe,Bob\x00\n\x00",
			want: Table{Columns: []string{"a", "b"}, Rows: [][]string{{"John\nBob", "Joe,Bob"}}},
		},
		"example 4, backslashes": {
			wire: "a\x00\n\x00" + `\\Player\\` + "\x00\n\x00",
			want: Table{Columns: []string{"a"}, Rows: [][]string{{`\Player\`}}},
		},
		"a newline behind a backslash": {
			wire: "a\x00\n\x00John\\\nBob\x00\n\x00", lax: true,
			want: Table{Columns: []string{"a"}, Rows: [][]string{{"John\nBob"}}},
		},
		"empty cells": {
			wire: "a\x00b\x00\n\x00\x00\x00\n\x00",
			want: Table{Columns: []string{"a", "b"}, Rows: [][]string{{"", ""}}},
		},
		"example 8": {
			wire: "token\x00\n\x00dfklj67fhjsdf98s6y\x00\n\x00",
			want: Table{Columns: []string{"token"}, Rows: [][]string{{"dfklj67fhjsdf98s6y"}}},
		},
		"example 9": {
			wire: "token\x00\n\x00\x00\n\x00",
			want: Table{Columns: []string{"token"}, Rows: [][]string{{""}}},
		},
		"example 14": {
			wire: "playername\x00hostname\x00frags\x00pings\x00rulename\x00\n\x00player\x00server\x00player\x00player\x00rules\x00\n\x00" +
				"name of the player\x00the name of this server\x00the number of frags a player has\x00the players latency\x00Server Variable names\x00\n\x00",
			want: Table{
				Columns: []string{"playername", "hostname", "frags", "pings", "rulename"},
				Rows: [][]string{
					{"player", "server", "player", "player", "rules"},
					{"name of the player", "the name of this server", "the number of frags a player has", "the players latency", "Server Variable names"},
				},
			},
		},
		"example 15": {
			wire: "PROTO\x00GAME\x00SERVER\n\x001\x00Counter-Strike\x00HalfLife\x00\n\x00", lax: true,
			want: Table{Columns: []string{"PROTO", "GAME", "SERVER"}, Rows: [][]string{{"1", "Counter-Strike", "HalfLife"}}},
		},
		"example 16": {
			wire: "hostip\x00players\x00max\x00map\x00\n\x00192.168.1.66:27015\x0010\x0020\x00datacore\x00\n\x00",
			want: Table{Columns: []string{"hostip", "players", "max", "map"}, Rows: [][]string{{"192.168.1.66:27015", "10", "20", "datacore"}}},
		},
		"example 17": {
			wire: "playername\x00frags\x00deaths\x00playerping\x00playertime\x00\n\x00Bob\x0020\x0010\x00200\x003321\x00\n\x00",
			want: Table{Columns: []string{"playername", "frags", "deaths", "playerping", "playertime"}, Rows: [][]string{{"Bob", "20", "10", "200", "3321"}}},
		},
		"example 18": {
			wire: "rulename\x00rulevalue\x00\n\x00mp_timelimit\x0010\x00\n\x00",
			want: Table{Columns: []string{"rulename", "rulevalue"}, Rows: [][]string{{"mp_timelimit", "10"}}},
		},
		"the null row": {wire: "\n\x00"},
		"cut": {
			wire: "a\x00x-more=12\x00\n\x00v\x00\n\x00",
			want: Table{Columns: []string{"a"}, Rows: [][]string{{"v"}}, More: 12},
		},
	} {
		got, err := ParseTable([]byte(tc.wire), tc.asked)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: ParseTable: error %v (-want +got):\n%s", name, err, diff)
		}
		if b := tc.want.AppendTo(nil); string(b) != tc.wire && !tc.lax {
			t.Errorf("%s: written as %q, want %q", name, b, tc.wire)
		}
	}
}

func TestHeaderFormsOfTheDraft(t *testing.T) {
	secret := []bool{true, false, true, true, true, false} // neither ip nor x-secure
	all := []bool{true, true, true, true, true, true}
	for name, tc := range map[string]struct {
		form  HeaderForm
		there []bool
		wire  string
	}{
		"normal":           {NormalHeader, all, "hostname\x00ip\x00port\x00map\x00game\x00x-secure\x00\n\x00"},
		"normal, some":     {NormalHeader, secret, "hostname\x00port\x00map\x00game\x00\n\x00"},
		"compact":          {CompactHeader, secret, "1\x000\x001\x001\x001\x000\x00\n\x00"},
		"null":             {NullHeader, all, "\x00\n\x00"},
		"null, not so all": {NullHeader, secret, "1\x000\x001\x001\x001\x000\x00\n\x00"},
	} {
		b := AppendRowEnd(AppendHeader(nil, tc.form, serverColumns, tc.there))
		if string(b) != tc.wire {
			t.Errorf("%s: written as %q, want %q", name, b, tc.wire)
		}
		var want Table
		row := []string{}
		for i, there := range tc.there {
			if there {
				want.Columns, row = append(want.Columns, serverColumns[i]), append(row, serverRow[i])
				b = AppendCell(b, serverRow[i])
			}
		}
		want.Rows = [][]string{row}
		got, err := ParseTable(AppendRowEnd(b), serverColumns)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: read as, error %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestQueriesOfTheDraft(t *testing.T) {
	for text, want := range map[string]Query{
		"AUTH john": {Verb: Auth, Password: "john"},
		"SELECT hostname,ip,port,map,game,x-secure": {Verb: Select, Fields: serverColumns},
		"SELECT name,ping,frags":                    {Verb: Select, Fields: []string{"name", "ping", "frags"}},
		`SELECT playername WHERE ping > 10 and name != "bob"`: {
			Verb: Select, Fields: []string{"playername"},
			Where: []Comparison{{Column: "ping", Op: Greater, Value: "10"}, {Column: "name", Op: NotEqual, Value: "bob"}},
		},
		`SELECT playername WHERE name > "bob" or ping > 100 IDENTIFIED dfklj67fhjsdf98s6y`: {
			Verb: Select, Fields: []string{"playername"},
			Where:      []Comparison{{Column: "name", Op: Greater, Value: "bob"}, {Or: true, Column: "ping", Op: Greater, Value: "100"}},
			Identified: "dfklj67fhjsdf98s6y",
		},
		"SELECT playername,ping,frags,deaths":              {Verb: Select, Fields: ProcedureFields("players")},
		"SELECT rulename,rulevalue":                        {Verb: Select, Fields: ProcedureFields("rules")},
		"SELECT hostname,hostip,numplayers,maxplayers,map": {Verb: Select, Fields: ProcedureFields("info")},
		"SP players": {Verb: Procedure, Name: "players"},
		"CL":         {Verb: Columns},
		"CL LONG":    {Verb: Columns, Long: true},
		"VERSION":    {Verb: Version},
		"PING":       {Verb: Ping},
		`SELECT map X-HEADER null X-OFFSET 7 X-LIMIT 3`:     {Verb: Select, Fields: []string{"map"}, Header: NullHeader, Offset: 7, Limit: 3},
		`SP info WHERE hostip = "1.2.3.4:5" X-TOKEN aB-_c3`: {Verb: Procedure, Name: "info", Where: []Comparison{{Column: "hostip", Op: Equal, Value: "1.2.3.4:5"}}, Token: "aB-_c3"},
	} {
		got, err := ParseQuery([]byte(text))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("ParseQuery(%s): error %v (-want +got):\n%s", text, err, diff)
		}
		if b := want.AppendTo(nil); string(b) != text {
			t.Errorf("written as %s, want %s", b, text)
		}
	}
}

func TestTimesOfTheDraft(t *testing.T) {
	now := time.Date(2002, 7, 26, 18, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"E1027728720":          time.Unix(1027728720, 0).UTC(),
		"20020727T001200":      time.Date(2002, 7, 27, 0, 12, 0, 0, time.UTC),
		"012000":               time.Date(2002, 7, 26, 1, 20, 0, 0, time.UTC),
		"012000+02":            time.Date(2002, 7, 25, 23, 20, 0, 0, time.UTC),
		"3321":                 time.Date(2002, 7, 26, 18, 33, 21, 0, time.UTC),
		"20T012000":            time.Date(2002, 7, 20, 1, 20, 0, 0, time.UTC),
		"0120T012000":          time.Date(2002, 1, 20, 1, 20, 0, 0, time.UTC),
		"20020101T000000-0330": time.Date(2002, 1, 1, 3, 30, 0, 0, time.UTC),
	} {
		got, err := ParseTime(text, now)
		if err != nil || !got.Equal(want) {
			t.Errorf("ParseTime(%s) = %v, %v; want %v", text, got, err, want)
		}
	}
	if got := string(AppendEpoch(nil, time.Unix(1027728720, 0))); got != "E1027728720" {
		t.Errorf("AppendEpoch = %s", got)
	}
	if got := string(AppendTime(nil, time.Date(2002, 7, 27, 2, 12, 0, 0, time.FixedZone("", 7200)))); got != "20020727T001200" {
		t.Errorf("AppendTime = %s", got)
	}
	for _, text := range []string{"", "E", "E-1", "E+1", "Exyz", "1", "123", "61", "6100", "250000", "20021301T000000", "20020230T000000", "T", "20020101T", "012000+2", "012000+24", "012000+0260", "2002T000000x", "0-", "+02"} {
		if got, err := ParseTime(text, now); err == nil {
			t.Errorf("ParseTime(%q) = %v, want ErrTime", text, got)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"012000": 80 * time.Minute, "3321": 33*time.Minute + 21*time.Second, "07": 7 * time.Second,
		"02T012000": 49*time.Hour + 20*time.Minute, "7": 7 * time.Second, "99": 99 * time.Second, "7261": 7261 * time.Second, "86400": 86400 * time.Second,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%s) = %v, %v; want %v", text, got, err, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "000000", 80 * time.Minute: "012000", 49*time.Hour + 1500*time.Millisecond: "02T010001", 1 << 62: "99T235959",
	} {
		got := string(AppendDuration(nil, d))
		if got != want {
			t.Errorf("AppendDuration(%v) = %s, want %s", d, got, want)
		}
		if back, err := ParseDuration(got); err != nil || back != min(max(d, 0), maxDuration).Truncate(time.Second) {
			t.Errorf("ParseDuration(%s) = %v, %v", got, back, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "+1", "T012000", "1T012000", "01T0120", "4294967296"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want ErrTime", text, got)
		}
	}
}

func TestPongOfTheDraft(t *testing.T) {
	if got := string(AppendPong(nil)); got != "j\x00\n" {
		t.Errorf("AppendPong = %q", got)
	}
	for answer, want := range map[string]bool{"j\x00\n": true, "j\x00\n\x00": true, "j": false, "": false, "k\x00\n": false} {
		if got := isPong([]byte(answer)); got != want {
			t.Errorf("isPong(%q) = %v, want %v", answer, got, want)
		}
	}
}

func TestProceduresHaveTheirColumns(t *testing.T) {
	for name, columns := range map[string]int{"players": 4, "rules": 2, "info": 5, "x-own": 0} {
		q := Query{Verb: Procedure, Name: name}
		if got := q.Columns(); len(got) != columns || slices.Contains(got, "") {
			t.Errorf("columns of %s = %q, want %d", name, got, columns)
		}
	}
}
