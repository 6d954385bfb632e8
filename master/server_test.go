package master

import (
	"testing"
	"time"
)

func TestPopulation(t *testing.T) {
	for name, tt := range map[string]struct {
		rules []string
		rows  int
		want  int
	}{
		"stated":             {rules: []string{"numplayers", " 3 "}, rows: 1, want: 3},
		"stated in capitals": {rules: []string{"NumPlayers", "3"}, want: 3},
		"the largest":        {rules: []string{"numplayers", "9999"}, want: MaxPopulation},
		"too large":          {rules: []string{"numplayers", "10000"}, rows: 2, want: 2},
		"negative":           {rules: []string{"numplayers", "-1"}, rows: 2, want: 2},
		"no number":          {rules: []string{"numplayers", "many"}, rows: 2, want: 2},
		"only a list":        {rows: 2, want: 2},
		"nothing":            {},
	} {
		r := NewRegistry(Limits{})
		s := at("gmtest", source(1), 1)
		var rep Report
		fillRules(r, &rep, tt.rules...)
		for range tt.rows {
			rep.Player([]byte("x"))
		}
		if tt.rows > 0 {
			rep.SetPlayers(r.Names([]string{"player_"}), tt.rows)
		}
		if err := rep.Into(&s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := s.Population(); got != tt.want {
			t.Errorf("%s: Population() = %d, want %d", name, got, tt.want)
		}
	}
}

func TestYesIsSaidInSeveralWays(t *testing.T) {
	for value, want := range map[string]bool{
		"1": true, " 2 ": true, "-1": true, "True": true, "YES": true, "on": true,
		"": false, "0": false, "00": false, "false": false, "no": false, "off": false, "yes please": false, "1.5": false,
	} {
		if got := IsYes(value); got != want {
			t.Errorf("IsYes(%q): got %v, want %v", value, got, want)
		}
	}
}

func TestFindRecord(t *testing.T) {
	r := NewRegistry(Limits{})
	s := at("gmtest", source(1), 1)
	mustPut(t, r, s)
	later := s.Seen.Add(20 * time.Second)
	r.Touch(s.Key, fromQR2, later)
	h, ok := r.FindRecord(s.Public)
	if !ok || h.Key != s.Key || !h.LastSeen.Equal(later) {
		t.Errorf("FindRecord(%v) = %v at %v, %v; want the server, heard at %v", s.Public, h.Server, h.LastSeen, ok, later)
	}
	if h, ok := r.FindRecord(source(2)); ok || h.Server != nil {
		t.Errorf("FindRecord of an address without server = %v, %v; want nothing", h.Server, ok)
	}
}
